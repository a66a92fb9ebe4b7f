"""Neighbouring elements that a thread accesses one by one: ``p[4 * i]``, ``p[4 * i + 1]``, ..."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import parts
from gi_cuda.grammar.frontends.cuda.transforms.code import (
    LOOPS,
    Code,
    Function,
    descend,
    geometry,
    holds,
)
from gi_cuda.grammar.frontends.cuda.transforms.host_code.expressions import literal
from gi_cuda.grammar.frontends.cuda.transforms.mapping.indices import declared_names
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import unparenthesized, without_casts
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import (
    Access,
    Pointer,
    Use,
    accesses,
    certain,
    changes,
    leaves,
    meetings,
    pointers,
)

_HOLDERS = frozenset({"expression_statement", "declaration", "return_statement", "if_statement"})
_IMPURE = frozenset(
    {
        *("call_expression", "assignment_expression", "update_expression", "lambda_expression"),
        *("subscript_expression", "pointer_expression", "->"),
    }
)
"""Nodes by which an index changes something, calls something or reads memory."""


_LEADS = frozenset({"subscript_expression", "pointer_expression", "field_expression"})
"""Nodes by which a pointer of an unknown type leads to memory."""


@dataclass(frozen=True, slots=True)
class Place:
    """An access of an element in a statement that always makes it.

    Attributes:
        access: the access.
        statement: a statement of a block.
        terms: the summands of the index that are no literals, and a pointer that is a local
            variable.
        key: their texts and signs.
        offset: the sum of its literals: 1 of ``p[4 * i + 1]``.
    """

    access: Access
    statement: Node
    terms: Sequence[Node]
    key: frozenset[tuple[str, int]]
    offset: int


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Accesses of neighbouring elements that can be made at once.

    Attributes:
        pointer: the pointer to the elements.
        places: the accesses, of which some may be of the same element.
        first: the lowest offset.
        length: how many neighbours there are: one vector, or several.
        stored: whether all of them are stores; else they are loads.
    """

    pointer: Pointer
    places: Sequence[Place]
    first: int
    length: int
    stored: bool


def neighbours(code: Code, function: Function, count: int) -> Iterator[Neighbours]:
    """Find so many neighbouring elements, or a multiple of them, that each thread loads or stores
    one by one, in statements between which nothing can change the elements or their index.

    Ones that cannot be aligned for all threads are left out, such as those of a stencil, and ones
    that are the same for all threads.
    """
    for pointer, stored, places in _together(code, function):
        offsets, terms = {one.offset for one in places}, places[0].terms
        if not all(_is_multiple(code, function, one, count) for one in terms):
            continue
        whole = {
            one
            for one in offsets
            if one % count == 0 and offsets.issuperset(range(one, one + count))
        }
        for first in sorted(one for one in whole if one - count not in whole):
            end = next(
                one for one in range(first, first + len(offsets) + 1, count) if one not in whole
            )
            own = [one for one in places if first <= one.offset < end]
            yield Neighbours(pointer, own, first, end - first, stored)


@lru_cache(maxsize=256)
def _together(code: Code, function: Function) -> Sequence[tuple[Pointer, bool, Sequence[Place]]]:
    """Find the loads, and the stores, of one block whose indices differ by literals, and that can
    be made at the time of the first load or of the last store."""
    together: list[tuple[Pointer, bool, Sequence[Place]]] = []
    if code.hidden(function) or function.host or "goto" in code.words(function.body):
        return ()
    for pointer in pointers(code, function):
        found = [
            (one, _place(code, function, pointer, one))
            for one in _accesses(code, function, pointer)
        ]
        runs: dict[tuple[int, bool, frozenset[tuple[str, int]]], list[list[Place]]] = {}
        for access, place in found:
            if place is None or place.statement.parent is None or not place.terms:
                continue
            key = (place.statement.parent.id, access.use is Use.WRITE, place.key)
            known = runs.setdefault(key, [])
            if known and _is_quiet(code, function, pointer, known[-1][0], place, found):
                known[-1].append(place)
            else:
                known.append([place])
        together += [
            (pointer, stored, one)
            for (_, stored, _), several in runs.items()
            for one in several
            if len(one) > 1
        ]
    return tuple(together)


def _accesses(code: Code, function: Function, pointer: Pointer) -> Sequence[Access]:
    """Find all accesses through a pointer; none if it is used in another way."""
    roots, one = [function.body], pointer.node.next_named_sibling
    if not pointer.parameter:
        roots.clear()
        while one is not None:
            roots.append(one)
            one = one.next_named_sibling
    found = [accesses(code, root, pointer.name) for root in roots]
    return [access for some in found for access in some or ()] if None not in found else ()


def _place(code: Code, function: Function, pointer: Pointer, access: Access) -> Place | None:
    """Read an access; None where it may be left out, or its index is not read."""
    node = access.element
    while node.parent is not None and node.parent.type != "compound_statement":
        node = node.parent
    if node.type not in _HOLDERS or len(access.steps) != 1:
        return None
    if access.use is Use.WRITE:
        sure = _target(node) == access.element
    else:
        sure = access.use is Use.READ and bool(certain(node, {access.node.id: "made"}))
    index = _index(access)
    if not sure or any(one.type in _IMPURE for one in descend(index)):
        return None
    terms = [one for _, one in _terms(index, 1) if literal(code.span(one)) is None]
    begin = access.element.child_by_field_name("argument")
    if begin is not None and not pointer.parameter:
        terms.append(begin)
    return Place(access, node, terms, *_sum(code, index))


def _index(access: Access) -> Node:
    return parts(access.element.child_by_field_name("indices"))[0]


def _sum(code: Code, index: Node) -> tuple[frozenset[tuple[str, int]], int]:
    """Return the texts of the summands that are no literals, with how often each is added, and the
    sum of the literals."""
    terms, offset = Counter[str](), 0
    for sign, one in _terms(index, 1):
        value = literal(code.span(one))
        if value is None:
            terms["".join(code.span(one).split())] += sign
        else:
            offset += sign * value
    return frozenset(terms.items()), offset


def _target(statement: Node) -> Node | None:
    """Return what a statement that is an assignment assigns to."""
    inner = parts(statement)
    if statement.type != "expression_statement" or len(inner) != 1:
        return None
    return inner[0].child_by_field_name("left") if "assignment" in inner[0].type else None


def _terms(node: Node, sign: int) -> Iterator[tuple[int, Node]]:
    """Find the terms of a sum with their signs."""
    node = unparenthesized(node)
    operator, left, right = (node.child_by_field_name(k) for k in ("operator", "left", "right"))
    if operator is not None and operator.type in ("+", "-") and left is not None and right:
        yield from _terms(left, sign)
        yield from _terms(right, sign if operator.type == "+" else -sign)
    else:
        yield sign, node


def _is_quiet(
    code: Code,
    function: Function,
    pointer: Pointer,
    begun: Place,
    place: Place,
    found: Sequence[tuple[Access, Place | None]],
) -> bool:
    """Tell whether nothing from one statement to another changes what accesses of both mean.

    Args:
        found: all accesses through the pointer, with what is read of them.
    """
    first, last = begun.statement, place.statement
    names = code.words(begun.access.element) | code.words(place.access.element)
    one: Node | None = first
    while one is not None:
        changed = changes(code, one).whole | code.macro_words(one) | {*declared_names(one, code)}
        if changed & names or code.opaque(one) or one.type.startswith("preproc") or one.has_error:
            return False
        if meetings(code, one) or (one != last and leaves(one)):
            return False
        if first != last and _may_meet(code, function, pointer, one):
            return False
        one = one.next_named_sibling if one != last else None
    stored = place.access.use is Use.WRITE
    excused = first if stored else last
    for access, other in found:
        if not first.start_byte <= access.element.start_byte < last.end_byte:
            continue
        if access.use is not place.access.use:
            read = access.use is Use.READ and holds(excused, access.element)
            if not read and (stored or _target(last) != access.element):
                return False
        elif stored and (
            other is None
            or other.key != place.key
            or other.statement.parent != place.statement.parent
        ):
            return False
    return True


def _may_meet(code: Code, function: Function, pointer: Pointer, statement: Node) -> bool:
    """Tell whether a statement mentions another pointer that may have been computed from one: a
    local variable, or where the pointer itself is local, any. Of parameters that lead to the same
    memory the text says nothing."""
    for one in descend(statement):
        if one.type != "identifier" or code.span(one) == pointer.name:
            continue
        declared, type_ = code.declaration(one, function), code.declared_type(one, function)
        local = declared is not None and declared.start >= function.body.start_byte
        above = one.parent
        leads = above is not None and above.type in _LEADS
        if type_ is not None:
            leads = bool(type_.levels) and (type_.levels[0] == "*" or not local)
        if leads and (local or not pointer.parameter):
            return True
    return False


def _is_multiple(
    code: Code, function: Function, node: Node, count: int, *, factor: bool = False
) -> bool:
    """Tell whether all values of an expression may be multiples of a number: ``4 * i``, and
    ``row * n``, of which nothing is known. The number of a thread is none, nor is what goes up
    by 1.

    Args:
        factor: whether the expression is a factor, which may be any number that is not known.
    """

    def fits(one: Node | None, *, factor: bool = factor) -> bool:
        return one is not None and _is_multiple(code, function, one, count, factor=factor)

    node = without_casts(node)
    if (value := literal(code.span(node))) is not None:
        return value % count == 0
    operator, left, right = (node.child_by_field_name(k) for k in ("operator", "left", "right"))
    if node.type == "identifier":
        values, steps = _values(code, function, node)
        type_ = None if values else code.declared_type(node, function)
        aligned = type_ is not None and bool(type_.levels)
        return all(map(fits, (*values[-1:], *steps))) if values else factor or aligned
    if node.type == "field_expression":
        told = geometry(node, code.text)
        return factor and (told is None or told[0] in ("blockDim", "gridDim"))
    if node.type == "pointer_expression" and code.span(node).startswith("&"):
        inner = node.child_by_field_name("argument")
        array, *index = parts(inner) if inner and inner.type == "subscript_expression" else [None]
        return fits(array) and all(fits(one) for some in index for one in parts(some))
    if operator is None or node.type != "binary_expression":
        return False
    if operator.type == "*":
        return fits(left, factor=True) or fits(right, factor=True)
    return operator.type == "<<" or (operator.type in ("+", "-") and fits(left) and fits(right))


def _values(code: Code, function: Function, name: Node) -> tuple[list[Node], list[Node]]:
    """Return the values that a variable is set to in the text before it is used, and what is added
    to it then or in a loop around; the increment itself where that is 1."""
    values, steps, reach = list[Node](), list[Node](), name.end_byte
    above = name.parent
    while above is not None and above != function.body:
        reach = above.end_byte if above.type in LOOPS else reach
        above = above.parent
    for one in descend(function.body):
        target, value, operator = (
            one.child_by_field_name(a) or one.child_by_field_name(b)
            for a, b in (("declarator", "left"), ("value", "right"), ("operator", "operator"))
        )
        if one.type == "update_expression":
            target, value = one.child_by_field_name("argument"), one
        elif one.type not in ("init_declarator", "assignment_expression"):
            continue
        if target is None or value is None or code.span(target) != code.span(name):
            continue
        if operator is not None and operator.type != "=":
            steps += [value] if one.start_byte < reach else []
        elif one.end_byte <= name.start_byte:
            values.append(value)
    return values, steps
