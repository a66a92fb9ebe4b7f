"""Atomic additions of a loop to one place: add up in a register, then add to memory once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import parts
from gi_cuda.grammar.frontends.cuda.transforms.code import LOOPS, Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite, Site
from gi_cuda.grammar.frontends.cuda.transforms.reading.callees import called_name
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import without_casts
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import (
    changes,
    is_invariant,
    leaves,
    meetings,
)
from gi_cuda.grammar.frontends.cuda.transforms.writing.around_loops import around
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import fresh
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, replacing

_SUMS = {"atomicAdd": "+=", "atomicSub": "+=", "atomicOr": "|=", "atomicXor": "^="}
"""Function -> the operator that gathers what several calls add; 0 adds nothing to any."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in memory that a loop only adds to.

    Attributes:
        function: the atomic function, the same for all.
        address: as written, on one line.
        type: of what lies there.
        calls: the loop's calls, each with what it adds.
    """

    function: str
    address: str
    type: str
    calls: tuple[tuple[Node, Node], ...]


class Atomic(Family):
    """``<atomic_kernel.cu_40><atomic_K>`` adds up in registers what a loop adds to memory.

    Before and after::

        for (int i = threadIdx.x; i < n; i += blockDim.x)
            atomicAdd(count, a[i] > 0);

        int total = 0;
        for (int i = threadIdx.x; i < n; i += blockDim.x)
            total += a[i] > 0;
        atomicAdd(count, total);

    The address stays the same in the loop, which does not use that memory otherwise, nor what the
    calls return. Sums of floating-point numbers are added in another order.
    """

    type = RuleType.ATOMIC

    def sites(self, code: Code) -> Iterator[Site]:
        """Return a site for each outermost loop with atomic additions that can be gathered."""
        for function in code.functions:
            end = 0
            for loop in _loops(function):
                if loop.start_byte >= end and _places(code, function, loop):
                    end = loop.end_byte
                    yield Site(loop.start_byte, function.number, tuple(self.type.kind.specials))

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Declare the sums before the loop, and add them to memory after it."""
        for function in code.functions:
            for loop in _loops(function):
                if loop.start_byte == at and (found := _places(code, function, loop)):
                    return Rewrite(tuple(_splices(code, function, loop, found)))
        return None


def _loops(function: Function) -> Iterator[Node]:
    return (one for one in descend(function.body) if one.type in LOOPS)


def _places(code: Code, function: Function, loop: Node) -> list[_Place]:
    """Find the places that a loop adds to; none if its threads meet there in any other way."""
    if "atomic" not in code.span(loop) or code.opaque(loop) or leaves(loop, inside=True):
        return []
    if around(code, loop, (), ()) is None:
        return []
    calls = [one for one in descend(loop) if called_name(code, one) in _SUMS]
    if meetings(code, loop) != ["atomic"] * len(calls):
        return []
    found: dict[tuple[str, str], _Place] = {}
    for call in calls:
        place = _place(code, function, loop, call)
        if place is None:
            return []
        key = place.function, place.address
        before = found[key].calls if key in found else ()
        found[key] = _Place(place.function, place.address, place.type, (*before, *place.calls))
    return list(found.values())


def _place(code: Code, function: Function, loop: Node, call: Node) -> _Place | None:
    """Read one call; None if its address changes, or its result or that memory is used."""
    arguments = parts(call.child_by_field_name("arguments"))
    above = call.parent
    if len(arguments) != 2 or above is None or above.type != "expression_statement":
        return None
    address, added = arguments
    type_ = code.type(address, function)
    if type_ is None or type_.levels != ("*",):
        return None
    element = without_casts(address)
    if element.type == "pointer_expression":
        element = element.named_children[-1]
    while element.type == "field_expression" and (inner := element.child_by_field_name("argument")):
        element = inner
    if not is_invariant(code, function, loop, changes(code, loop), element):
        return None
    roots = {
        code.span(one)
        for one in descend(element)
        if one.type == "identifier" and _is_memory(code, function, one, element)
    }
    text = "".join(code.span(address).split())
    others = (
        one
        for one in descend(loop)
        if one.type == "identifier" and code.span(one) in roots and not _is_in(code, one, text)
    )
    if not roots or any(others) or roots & code.macro_words(loop):
        return None
    name = called_name(code, call) or ""
    return _Place(name, " ".join(code.span(address).split()), type_.base, ((call, added),))


def _is_memory(code: Code, function: Function, name: Node, element: Node) -> bool:
    """Tell whether a name in an address leads to memory: a pointer, an array, or the variable."""
    type_ = code.declared_type(name, function)
    return name == element or (type_ is not None and bool(type_.levels))


def _is_in(code: Code, name: Node, address: str) -> bool:
    """Tell whether a name is part of the address of an atomic addition."""
    at: Node | None = name
    while at is not None and at.type != "argument_list":
        at = at.parent
    given = parts(at)
    call = None if at is None else at.parent
    return (
        call is not None
        and called_name(code, call) in _SUMS
        and "".join(code.span(given[0]).split()) == address
        and given[0].start_byte <= name.start_byte < given[0].end_byte
    )


def _splices(
    code: Code, function: Function, loop: Node, places: Sequence[_Place]
) -> Iterator[Splice]:
    before: list[str] = []
    after: list[str] = []
    taken: set[str] = set()
    for place in places:
        total = fresh("total", code, function, taken)
        taken.add(total)
        before.append(f"{place.type} {total} = 0;")
        after.append(f"{place.function}({place.address}, {total});")
        for call, added in place.calls:
            text = f"{total} {_SUMS[place.function]} {code.span(added)}"
            yield replacing(call.start_byte, call.end_byte, text)
    yield from around(code, loop, before, after) or ()
