"""Scalar replacement: a loop keeps an element of an array in a local variable."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import assigned_root
from gi_cuda.grammar.frontends.cuda.transforms.code import LOOPS, Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite, Site
from gi_cuda.grammar.frontends.cuda.transforms.reading.derived import derived
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import (
    Access,
    Changes,
    Pointer,
    Use,
    accesses,
    certain,
    changes,
    is_invariant,
    meetings,
    pointers,
)
from gi_cuda.grammar.frontends.cuda.transforms.writing.around_loops import around
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import fresh
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.scope import FILE_LEVEL
from gi_cuda.grammar.splice import Splice, replacing

_KEYWORDS = LOOPS - {"for_range_loop"}
_MEMBER = re.compile(r"(?:\.|->)(\w+)(?:\[[^][]*\])?$")
_PLAIN = re.compile(r"\[([A-Za-z0-9]+)\]")
_LEAVES = frozenset({"return_statement", "goto_statement", "lambda_expression", "try_statement"})


@dataclass(frozen=True, slots=True)
class _Element:
    """An element that a loop keeps in a local variable.

    Attributes:
        pointer: what leads to it.
        spelled: its type.
        text: the element as written: ``p[i]``, ``p->s[i]``.
        index: ``[i]``, ``->s[i]``, without white space.
        accesses: the loop's accesses.
        written: whether the loop writes it.
    """

    pointer: Pointer
    spelled: str
    text: str
    index: str
    accesses: tuple[Access, ...]
    written: bool


class Scalar(Family):
    """``<scalar_kernel.cu_52><scalar_K>`` keeps the elements that a loop accesses again and again
    in local variables.

    Before and after::

        for (int j = 0; j < m; j++) {
            out[i] += a[j] * b[i];
        }

        float out_i = out[i];
        const float b_i = b[i];
        for (int j = 0; j < m; j++) {
            out_i += a[j] * b_i;
        }
        out[i] = out_i;

    The element's index does not change in the loop, which writes no other element through that
    pointer, different members of a structure apart (``p[i].x`` and ``p[i].y``, ``p->x[i]`` and
    ``p->y[i]``). An element that the loop only reads is kept as well where the loop writes other
    memory, so that the compiler does not know that the element stays the same. Where the loop runs
    not at all, or writes the element in some iterations only, the element is written all the same,
    with the value that it had.
    """

    type = RuleType.SCALAR

    def sites(self, code: Code) -> Iterator[Site]:
        """Return a site for each loop with such elements, unless an outer loop has them too."""
        for function in code.functions:
            covered: list[tuple[Node, frozenset[str]]] = []
            for loop in _loops(function):
                found = _elements(code, function, loop)
                names = frozenset(one.pointer.name + one.index for one in found)
                outer = (held for other, held in covered if _holds(other, loop))
                if names - frozenset[str]().union(*outer):
                    covered.append((loop, names))
                    yield Site(loop.start_byte, function.number, tuple(self.type.kind.specials))

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Load the elements before the loop, and store them after it."""
        for function in code.functions:
            for loop in _loops(function):
                if loop.start_byte == at and (found := _elements(code, function, loop)):
                    splices = _rewritten(code, function, loop, found)
                    return None if splices is None else Rewrite(tuple(splices))
        return None


def _loops(function: Function) -> Iterator[Node]:
    return (one for one in descend(function.body) if one.type in _KEYWORDS)


def _holds(outer: Node, inner: Node) -> bool:
    return outer.start_byte < inner.start_byte and inner.end_byte <= outer.end_byte


def _elements(code: Code, function: Function, loop: Node) -> tuple[_Element, ...]:
    """Find the elements that a loop can keep in local variables."""
    if any(one.type in _LEAVES for one in descend(loop)) or code.opaque(loop):
        return ()
    if any(one.type == "labeled_statement" for one in descend(function.body)):
        return ()
    if around(code, loop, (), ()) is None:
        return ()
    if meetings(code, loop):
        return ()
    changed = changes(code, loop)
    leading = [*pointers(code, function), *_arrays(code, function, loop, changed)]
    found = (_elements_of(code, function, loop, changed, one) for one in leading)
    return tuple(one for some in found for one in some)


def _arrays(code: Code, function: Function, loop: Node, changed: Changes) -> Iterator[Pointer]:
    """Find the arrays of the device that a loop writes."""
    for name in sorted(changed.inner):
        used = next(one for one in descend(loop) if code.span(one) == name)
        declared, type_ = code.declaration(used, function), code.declared_type(used, function)
        if declared is None or declared.function != FILE_LEVEL or type_ is None:
            continue
        if type_.levels and type_.levels[0] != "*" and "volatile" not in type_.base:
            yield Pointer(name, type_.base, type_.const, False, False, loop)


def _elements_of(
    code: Code, function: Function, loop: Node, changed: Changes, pointer: Pointer
) -> Iterator[_Element]:
    """Read the elements behind a pointer for which local variables can stand in a loop."""
    found = accesses(code, loop, pointer.name)
    if found is None or any(_is_part(one.element) and one.use is not Use.READ for one in found):
        found = accesses(code, loop, pointer.name, members=True)
        if found is None or not all(_is_number(code, function, one.element) for one in found):
            return
    by_index: dict[str, tuple[Access, ...]] = {}
    for one in found:
        by_index[one.index] = (*by_index.get(one.index, ()), one)
    stored = {one.index: one.steps for one in found if one.use is not Use.READ}
    if any(
        one.index != index and not _is_apart(code, one.steps, steps)
        for one in found
        for index, steps in stored.items()
    ):
        return
    for same in by_index.values():
        element = _element(code, function, loop, changed, pointer, same)
        if element is not None:
            yield element


def _is_apart(code: Code, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Tell whether two elements behind a pointer are different members of a structure."""
    first = next((pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]), None)
    if first is None or any(step.startswith("[") for step in first):
        return False
    return "union" not in code.words(code.root)


def _is_number(code: Code, function: Function, element: Node) -> bool:
    type_ = code.type(element, function)
    return type_ is not None and type_.rank >= 0 and not type_.levels


def _element(
    code: Code,
    function: Function,
    loop: Node,
    changed: Changes,
    pointer: Pointer,
    found: tuple[Access, ...],
) -> _Element | None:
    """Read one element; None if no local variable can stand for it in a loop."""
    element = found[0].element
    type_ = code.type(element, function)
    if type_ is None or type_.levels or not is_invariant(code, function, loop, changed, element):
        return None
    if not certain(loop, {one.node.id: pointer.name for one in found}):
        return None
    if not all(type_.arithmetic or _is_plain(code, function, one.element) for one in found):
        return None
    written = not pointer.const and any(one.use is not Use.READ for one in found)
    if written:
        if function.kernel and not _is_own(code, function, element):
            return None
    elif _is_loaded_once(loop, pointer, found) or not _stores(code, function, loop, pointer):
        return None
    text = " ".join(code.span(element).split())
    member = element.type == "field_expression" or "->" in found[0].index
    spelled = type_.base if member else pointer.spelled
    return _Element(pointer, spelled, text, found[0].index, found, written)


def _is_loaded_once(loop: Node, pointer: Pointer, found: Sequence[Access]) -> bool:
    """Tell whether the compiled loop loads an element once that it does not write: before the first
    iteration, or because nothing can change the element."""
    first = loop.child_by_field_name("initializer")
    started = first is not None and all(one.node.end_byte <= first.end_byte for one in found)
    return started or (pointer.const and pointer.restrict)


def _is_plain(code: Code, function: Function, element: Node) -> bool:
    """Tell whether a structure is used as a whole, or a number in it."""
    used = element
    while (above := used.parent) is not None and above.child_by_field_name("argument") == used:
        if above.type not in ("field_expression", "subscript_expression"):
            break
        used = above
    type_ = code.type(used, function)
    return used == element or (type_ is not None and type_.arithmetic)


def _is_part(element: Node) -> bool:
    """Tell whether only a member of an element is meant."""
    return element.parent is not None and element.parent.type == "field_expression"


def _is_own(code: Code, function: Function, element: Node) -> bool:
    """Tell whether an element depends on the number of the thread, and others do not write it."""
    own = derived(code, function, ("threadIdx", "blockIdx", "atomicAdd", "atomicInc"))
    return bool(code.words(element) & own)


def _stores(code: Code, function: Function, loop: Node, pointer: Pointer) -> bool:
    """Tell whether a loop writes memory through another pointer."""
    for node in descend(loop):
        if node.type not in ("assignment_expression", "update_expression"):
            continue
        target = node.child_by_field_name("left") or node.child_by_field_name("argument")
        root = assigned_root(target)
        if target is None or target.type == "identifier" or root is None:
            continue
        type_ = code.type(root, function)
        if type_ is not None and type_.levels[:1] == ("*",) and code.span(root) != pointer.name:
            return True
    return False


def _rewritten(
    code: Code, function: Function, loop: Node, elements: Sequence[_Element]
) -> list[Splice] | None:
    """Put local variables into a loop, and their loads and stores around it."""
    loads: list[str] = []
    stores: list[str] = []
    splices: list[Splice] = []
    taken: set[str] = set()
    for one in elements:
        outer = [o for other in elements if other is not one for o in other.accesses]
        shown = [a for a in one.accesses if not any(_holds(o.node, a.node) for o in outer)]
        if not shown:
            continue
        local = _local(code, function, one, taken)
        taken.add(local)
        splices += [replacing(a.node.start_byte, a.node.end_byte, local) for a in shown]
        const = "" if one.written else "const "
        loads.append(f"{const}{one.spelled} {local} = {one.text};")
        if one.written:
            stores.append(f"{one.text} = {local};")
    placed = around(code, loop, loads, stores)
    return None if placed is None else [*splices, *placed]


def _local(code: Code, function: Function, element: _Element, taken: set[str]) -> str:
    """Choose a name for the local variable: ``out_i`` for ``out[i]``, ``out_x`` for ``out[i].x``
    and ``out->x[i]``, else ``out_value``."""
    match = _MEMBER.search(element.index) or _PLAIN.fullmatch(element.index)
    base = f"{element.pointer.name}_{'value' if match is None else match[1]}"
    return fresh(base, code, function, taken)
