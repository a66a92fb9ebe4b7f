"""What whole numbers in an array mean to a kernel, as far as its text tells.

Some say where rows, lists or sequences begin and end in other arrays: of these each is no less than
the one before, and with others rows would end before they begin. Some say where an item of another
array is: small numbers would lead to a few of these alone. Some only say yes or no: of random
numbers nearly all would say yes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.file import CudaFile, signature, walk
from gi_cuda.grammar.frontends.cuda.functions import Definition
from gi_cuda.grammar.frontends.cuda.syntax import name_node
from gi_cuda.init.access import LOADS

_LOOPS = frozenset({"for_statement", "while_statement", "do_statement"})
_SPACE = re.compile(r"\s+")
_DEEPEST = 4
_AROUND = frozenset({"parenthesized_expression", "cast_expression"})


def are_offsets(code: CudaFile, function: Definition, name: str, depth: int = 0) -> bool:
    """Whether a kernel takes neighbours in an array for where something begins and ends.

    Two items, one behind the other, are that where a loop goes from one to the other, or their
    difference is a length and the first one leads to a place in another array.

    Args:
        name: of the pointer, as the function has it.
        depth: how many calls were followed to the function.
    """
    body = function.node.child_by_field_name("body")
    if body is None or depth > _DEEPEST:
        return False
    if any(_Pair(code, low, high, name).bounds(body) for low, high in _pairs(code, body, name)):
        return True
    return any(
        are_offsets(code, called, own, depth + 1) for called, own in _given(code, body, name)
    )


class Led(NamedTuple):
    """An array whose items a kernel finds by the items of another one.

    Attributes:
        array: its pointer.
        once: whether they are assigned to, so that of two threads with one place one would win.
        within: what may be the length of a row of it, if they are places in rows; else nothing.
        others: where each item of that array finds other ones, which are never itself: ``across``
            for ``at[k * items + i]`` and ``at[i]``, ``along`` for ``at[i * most + k]``; else "".
    """

    array: str
    once: bool
    within: tuple[str, ...] = ()
    others: str = ""


def leads_into(
    code: CudaFile, function: Definition, name: str, arrays: Collection[str]
) -> Led | None:
    """The array whose items a kernel finds by the items of another one: ``x`` of ``x[at[i]]``, or
    of ``x[row * width + at[i]]``; None where there is none, or where what else is computed of them
    leads there.

    Args:
        name: of the pointer, as the function has it.
        arrays: the pointers of which it may be.
    """
    body = function.node.child_by_field_name("body")
    if body is None:
        return None
    items = [_loaded(code, one) for one in walk(body) if _index(code, one, name) is not None]
    holders = _holders(code, body, items)
    named = [one for one in walk(body) if one.type == "identifier" and code.of(one) in holders]
    places = (*items, *map(_around, named))
    found = [led for place in places for led in (*_rows(code, body, place), _led(code, place))]
    led = [one for one in found if one is not None and one.array in arrays]
    if not led:
        return None
    first = next((one for one in led if one.once), led[0])
    plain = not first.once and not first.within
    return (
        first._replace(others=_others(code, body, name, first.array, holders)) if plain else first
    )


def _others(code: CudaFile, body: Node, name: str, array: str, holders: Collection[str]) -> str:
    """How an item of an array finds other ones of it, the neighbours of an atom: it is read itself
    as well, and nothing asks whether one of them is itself.

    Args:
        name: of the array that says which.
        holders: what holds items of that.
    """
    read = {_index(code, one, array) for one in walk(body)} - {None, *holders}
    own = {one for one in read if one is not None and one.isidentifier()}
    for node in walk(body):
        if node.type == "binary_expression" and _operator(code, node) in ("==", "!="):
            sides = {code.of(node.children[0]), code.of(node.children[-1])}
            if sides & own and sides & {*holders}:
                return ""
    if any(_index(code, one, name) in own for one in walk(body)):
        return "across"
    for total in walk(body):
        if total.type != "binary_expression" or _operator(code, total) != "+":
            continue
        for product, place in (total.children[::2], total.children[::-2]):
            if all(one.array != name for one in _rows(code, body, place)):
                continue
            if code.of(place) in own:
                return "across"
            if own.intersection(_factors(code, product)):
                return "along"
    return ""


def _holders(code: CudaFile, body: Node, items: Collection[Node]) -> frozenset[str]:
    """The variables that hold some of these items and nothing else."""
    holding, others = set[str](), set[str]()
    for node in walk(body):
        left, right = _set_by(node)
        target = None if left is None else name_node(left)
        if target is not None:
            (holding if right in items else others).add(code.of(target))
        elif node.type == "update_expression":
            others.add(code.of(node).strip("+-"))
    return frozenset(holding - others)


def _around(node: Node) -> Node:
    """An expression with the parentheses and casts around it, or the part of it that is taken."""
    while node.parent is not None and (
        node.parent.type in _AROUND or node.parent.type == "field_expression"
    ):
        node = node.parent
    return node


def _loaded(code: CudaFile, item: Node) -> Node:
    """An item of an array, and what loads it from its address, with what is around it."""
    node = _around(item)
    address = node.parent
    if address is not None and address.type == "pointer_expression":
        given = address.parent
        call = None if given is None or given.type != "argument_list" else given.parent
        called = None if call is None else call.child_by_field_name("function")
        if call is not None and called is not None and code.of(called) in LOADS:
            return _around(call)
    return node


def _led(code: CudaFile, place: Node) -> Led | None:
    """The array of which an expression is an index, all by itself."""
    parent = place.parent
    if parent is None:
        return None
    if parent.type == "binary_expression":
        plain = _operator(code, parent) == "+" and parent.children[-1] == place
        return Led(code.of(parent.children[0]), False) if plain else None
    item = parent.parent if parent.type == "subscript_argument_list" else None
    array = None if item is None else item.child_by_field_name("argument")
    if item is None or array is None or len(parent.named_children) > 1:
        return None
    return Led(code.of(array), _is_set(item))


def _is_set(item: Node) -> bool:
    """Whether an item of an array is assigned to."""
    user = item.parent
    if user is None or user.type != "assignment_expression":
        return False
    return user.child_by_field_name("left") == item


def _rows(code: CudaFile, body: Node, place: Node) -> Iterator[Led]:
    """The arrays in rows of which an expression is a place: ``x[row * width + place]``, or by a
    variable that holds the index."""
    total = place.parent
    if total is None or _operator(code, total) != "+":
        return
    factors = _factors(code, total.children[0 if total.children[-1] == place else -1])
    index = _around(total)
    holders = _holders(code, body, [index]) if factors else frozenset[str]()
    for item in walk(body) if factors else ():
        array, given = item.child_by_field_name("argument"), item.child_by_field_name("indices")
        if item.type != "subscript_expression" or array is None or given is None:
            continue
        if given.named_children == [index] or code.of(given)[1:-1] in holders:
            yield Led(code.of(array), _is_set(item), factors)


def _factors(code: CudaFile, product: Node) -> tuple[str, ...]:
    """The names that are multiplied with something, the last one first."""
    if product.type != "binary_expression" or _operator(code, product) != "*":
        return ()
    both = (product.children[-1], product.children[0])
    return tuple(code.of(one) for one in both if one.type in ("identifier", "field_expression"))


def is_row_length(code: CudaFile, function: Definition, name: str, arrays: Collection[str]) -> bool:
    """Whether a kernel goes from row to row by a number: ``x[row * width + column]``, or
    ``x + row * width``.

    Args:
        name: of the number, as the function has it.
        arrays: the pointers of which it may be.
    """
    body = function.node.child_by_field_name("body")
    return body is not None and any(
        _operator(code, total) == "+"
        and any(
            name in _factors(code, product) and not _is_constant(product, place)
            for product, place in (total.children[::2], total.children[::-2])
        )
        and (_is_index(total) or code.of(total.children[0]) in arrays)
        for total in walk(body)
        if total.type == "binary_expression"
    )


def _is_constant(product: Node, place: Node) -> bool:
    """Whether both the row and the place in it are numbers: an entry of a table, ``x[2 * n + 1]``,
    that is not the longer the larger ``n`` is."""
    row = any(one.type == "number_literal" for one in product.children)
    return row and place.type == "number_literal"


def _is_index(node: Node) -> bool:
    """Whether an expression is a summand of an index, or that."""
    while node.parent is not None and node.parent.type in (*_AROUND, "binary_expression"):
        node = node.parent
    return node.parent is not None and node.parent.type == "subscript_argument_list"


class CountedRows(NamedTuple):
    """Rows through which a kernel goes, each item of an array says how many: the neighbours of each
    atom, ``x[k * atoms + atom]``, or what a row of a sparse matrix has in columns (ELLPACK).

    Attributes:
        counts: the array.
        length: what stands for the length of a row.
        arrays: those that have such rows.
        bounds: what the place in a row is less than.
    """

    counts: str
    length: str
    arrays: frozenset[str]
    bounds: frozenset[str]


def counted_rows(code: CudaFile, function: Definition, name: str) -> CountedRows | None:
    """The rows of which the items of an array say how many there are; None where it says so of
    none.

    Args:
        name: of the pointer, as the function has it.
    """
    body = function.node.child_by_field_name("body")
    if body is None:
        return None
    items = [_loaded(code, one) for one in walk(body) if _index(code, one, name) is not None]
    counts = {*_holders(code, body, items), *map(code.of, items)} if items else set[str]()
    rows = {row for loop in walk(body) for row in _counted(code, loop, counts)}
    lengths, arrays, bounds = set[str](), set[str](), set[str]()
    for total in walk(body) if rows else ():
        if total.type != "binary_expression" or _operator(code, total) != "+":
            continue
        for product, place in (total.children[::2], total.children[::-2]):
            factors = _factors(code, product)
            if rows.isdisjoint(factors):
                continue
            lengths.update(one for one in factors if one not in rows)
            arrays.update(one.array for one in _rows(code, body, place) if one is not None)
            bounds.update(_bounds(code, body, code.of(place)))
    if len(lengths) != 1 or not arrays:
        return None
    return CountedRows(name, lengths.pop(), frozenset(arrays), frozenset(bounds))


def filled_rows(code: CudaFile, function: Definition, name: str) -> str | None:
    """How long the rows are of which the items of an array say how much of each is used, as the
    text has it: ``most`` of ``x[i * most + k]`` with ``k < used[i]``; None where there are none.

    Args:
        name: of the pointer, as the function has it.
    """
    body = function.node.child_by_field_name("body")
    if body is None:
        return None
    items = {_loaded(code, one): i for one in walk(body) if (i := _index(code, one, name))}
    counts = {*_holders(code, body, items), *map(code.of, items)} if items else set[str]()
    found = ((loop, place) for loop in walk(body) for place in _counted(code, loop, counts))
    rows = (length for loop, place in found for length in _lengths(code, loop, place, items))
    return next(rows, None)


def _lengths(code: CudaFile, loop: Node, place: str, rows: Mapping[Node, str]) -> Iterator[str]:
    """How long rows are in which a loop goes from place to place.

    Args:
        rows: by the items that say how much of a row is used, which row that is.
    """
    for total in walk(loop):
        if total.type != "binary_expression" or _operator(code, total) != "+":
            continue
        for product, added in (total.children[::2], total.children[::-2]):
            if code.of(added) != place or _operator(code, product) != "*":
                continue
            for row, length in (product.children[::2], product.children[::-2]):
                known = _squeezed(code.of(row)) in rows.values()
                if known and any(True for _ in _rows(code, loop, added)):
                    yield code.of(length)


def _bounds(code: CudaFile, body: Node, place: str) -> Iterator[str]:
    """The names that a variable is compared with."""
    for node in walk(body):
        if node.type != "binary_expression" or _operator(code, node) not in ("<", ">="):
            continue
        if code.of(node.children[0]) == place and node.children[-1].type == "identifier":
            yield code.of(node.children[-1])


def _counted(code: CudaFile, loop: Node, counts: Collection[str]) -> Iterator[str]:
    """The variable of a loop that goes from a number to some count."""
    begins, condition = (loop.child_by_field_name(one) for one in ("initializer", "condition"))
    if loop.type != "for_statement" or begins is None or condition is None:
        return
    if condition.type != "binary_expression" or _operator(code, condition) not in ("<", "!="):
        return
    row, bound = code.of(condition.children[0]), code.of(condition.children[-1])
    first = next((right for left, right in map(_set_by, walk(begins)) if left is not None), None)
    if bound in counts and first is not None and first.type == "number_literal":
        yield row


def are_flags(code: CudaFile, function: Definition, name: str) -> bool:
    """Whether a kernel asks of items of an array only whether they are 0.

    Args:
        name: of the pointer, as the function has it.
    """
    body = function.node.child_by_field_name("body")
    if body is None or any(_given(code, body, name)):
        return False
    used = [one for one in walk(body) if one.type == "identifier" and code.of(one) == name]
    items = [one for one in walk(body) if _index(code, one, name) is not None]
    return len(used) == len(items) > 0 and all(_is_asked(code, one) for one in items)


def _is_asked(code: CudaFile, node: Node) -> bool:
    """Whether only that matters of an expression which is 0 or not."""
    parent = node.parent
    while parent is not None and parent.type == "parenthesized_expression":
        node, parent = parent, parent.parent
    if parent is None:
        return False
    if parent.type in ("if_statement", "condition_clause", "while_statement"):
        return True
    if parent.type == "conditional_expression":
        return parent.child_by_field_name("condition") == node
    operator = _operator(code, parent)
    if parent.type == "binary_expression" and operator in ("==", "!="):
        others = [code.of(one) for one in (parent.children[0], parent.children[-1]) if one != node]
        return others[:1] in (["0"], ["1"], ["true"], ["false"])
    return operator in ("!", "&&", "||")


def _pairs(code: CudaFile, body: Node, name: str) -> Iterator[tuple[str, str]]:
    """Indices of items of which one is right behind the other, without white space."""
    indices = {index for node in walk(body) if (index := _index(code, node, name)) is not None}
    for index in indices:
        for behind in (f"{index}+1", f"({index})+1", f"1+{index}"):
            if behind in indices:
                yield index, behind
        for before in (f"{index}-1", f"({index})-1"):
            if before in indices:
                yield before, index


def _index(code: CudaFile, node: Node, name: str) -> str | None:
    """The index of an item of an array, if a node is one."""
    if node.type == "subscript_expression":
        argument, index = node.child_by_field_name("argument"), node.child_by_field_name("indices")
        if argument is not None and code.of(argument) == name and index is not None:
            return _squeezed(code.of(index)[1:-1])
    elif node.type == "pointer_expression" and code.of(node).startswith("*"):
        return _behind(code, node.child_by_field_name("argument"), name)
    elif node.type == "call_expression":
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if called is not None and code.of(called) in LOADS and given is not None:
            return _behind(code, given.named_children[0] if given.named_children else None, name)
    return None


def _behind(code: CudaFile, node: Node | None, name: str) -> str | None:
    """The index in ``name + index``."""
    if node is not None and node.type == "parenthesized_expression" and node.named_children:
        node = node.named_children[0]
    if node is None or node.type != "binary_expression":
        return None
    left, _, right = node.children
    plain = code.of(left) == name and _operator(code, node) == "+"
    return _squeezed(code.of(right)) if plain else None


def _given(code: CudaFile, body: Node, name: str) -> Iterator[tuple[Definition, str]]:
    """The functions that get a pointer as it is, and what they call it."""
    for node in walk(body):
        if node.type != "call_expression":
            continue
        called, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        plain = "" if called is None else code.of(called).partition("<")[0].rpartition("::")[2]
        if given is None or (definition := code.function(plain)) is None:
            continue
        own = list(signature(code, definition))
        for at, argument in enumerate(given.named_children[: len(own)]):
            if code.of(argument) == name and own[at].name:
                yield definition, own[at].name


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two neighbours in an array, by their indices."""

    code: CudaFile
    low: str
    high: str
    name: str

    def bounds(self, body: Node) -> bool:
        """Whether they are begin and end of something."""
        low, high = self._carriers(body, self.low), self._carriers(body, self.high)
        return any(
            self._goes(node, low, high) or self._leads(node, body, low, high)
            for node in walk(body)
            if node.type in _LOOPS or node.type == "binary_expression"
        )

    def _carriers(self, body: Node, index: str) -> frozenset[str]:
        """The variables that hold an item, or what is computed from it."""
        found: frozenset[str] = frozenset()
        for node in walk(body):
            left, right = _set_by(node)
            target = None if left is None else name_node(left)
            if target is not None and right is not None and self._says(right, index, found):
                found |= {self.code.of(target)}
        return found

    def _says(self, node: Node | None, index: str, carriers: frozenset[str]) -> bool:
        """Whether an expression takes an item, or a variable that holds it."""
        return node is not None and any(
            _index(self.code, one, self.name) == index
            or (one.type == "identifier" and self.code.of(one) in carriers)
            for one in walk(node)
        )

    def _goes(self, loop: Node, low: frozenset[str], high: frozenset[str]) -> bool:
        """Whether a loop goes from one to the other."""
        condition = loop.child_by_field_name("condition")
        if loop.type not in _LOOPS or not self._says(condition, self.high, high):
            return False
        begins = loop.child_by_field_name("initializer")
        return self._says(begins, self.low, low) or self._says(condition, self.low, low)

    def _leads(self, node: Node, body: Node, low: frozenset[str], high: frozenset[str]) -> bool:
        """Whether it is how much lies between them, and the first one leads to a place."""
        if node.type != "binary_expression" or _operator(self.code, node) != "-":
            return False
        left, _, right = node.children
        if not (self._is(left, self.high, high) and self._is(right, self.low, low)):
            return False
        return any(
            self._says(one.child_by_field_name("indices"), self.low, low)
            for one in walk(body)
            if one.type == "subscript_expression" and _index(self.code, one, self.name) is None
        ) or any(
            self._says(one, self.low, low) and _is_pointer(self.code, one, body)
            for one in walk(body)
            if one.type == "binary_expression" and _operator(self.code, one) == "+"
        )

    def _is(self, node: Node, index: str, carriers: frozenset[str]) -> bool:
        """Whether an expression is an item, or a variable that holds it."""
        while node.type in _AROUND:
            node = node.child_by_field_name("value") or node.named_children[0]
        return _index(self.code, node, self.name) == index or self.code.of(node) in carriers


def _set_by(node: Node) -> tuple[Node | None, Node | None]:
    """What a declaration or assignment sets, and to what."""
    if node.type == "init_declarator":
        return node.child_by_field_name("declarator"), node.child_by_field_name("value")
    if node.type == "assignment_expression":
        left = node.child_by_field_name("left")
        plain = left is not None and left.type == "identifier"
        return (left if plain else None), node.child_by_field_name("right")
    return None, None


def _is_pointer(code: CudaFile, addition: Node, body: Node) -> bool:
    """Whether something is added to what the function gets by pointer."""
    left = code.of(addition.children[0])
    head = "" if body.parent is None else code.of(body.parent).partition("{")[0]
    return re.search(rf"[*\]][^,()]*\b{re.escape(left)}\b\s*(?=[,)])", head) is not None


def _operator(code: CudaFile, node: Node) -> str:
    operator = node.child_by_field_name("operator")
    return "" if operator is None else code.of(operator)


def _squeezed(text: str) -> str:
    return _SPACE.sub("", text)
