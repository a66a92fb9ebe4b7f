"""Finder of the places in host code that set the extents of a launch, and may be edited.

``k<<<grid, block>>>(a)`` takes the extents of its grid from ``dim3 grid((n + 255) / 256)``. That
place may be edited if nothing but launches of the kernel uses ``grid``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from gi_cuda.grammar.frontends.cuda.transforms.code import AXES
from gi_cuda.grammar.frontends.cuda.transforms.host_code.expressions import literal, plain
from gi_cuda.grammar.frontends.cuda.transforms.host_code.formulas import BlockExtent, rounding
from gi_cuda.grammar.frontends.cuda.transforms.host_code.functions import (
    HostFunction,
    Span,
    Variable,
)
from gi_cuda.grammar.frontends.cuda.transforms.host_code.kinds import Kind
from gi_cuda.grammar.frontends.cuda.transforms.host_code.launches import Extents, Launch

_NAME = re.compile(r"[^\W\d]\w*")
_SIMPLE = re.compile(r"\w+(?:(?:\.|->)\w+|\[\w+\])*")
_Role = tuple[str, int]
"""Purpose of a variable: the grid or block, and the axis; -1 for all axes."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place in host code that sets the extent of a grid or block along an axis.

    Attributes:
        text: an expression for the extent.
        span: span of the expression; None if it must not be edited.
        variable: the variable whose value is the extent; None if there is none.
        missing: True if the code does not set the extent, so that it is 1.
    """

    text: str
    span: Span | None = None
    variable: Variable | None = None
    missing: bool = False


class Values:
    """The extents of the launches of one kernel in one function.

    Args:
        function: the function.
        launches: the launches.
        denied: variables that must keep their values.
    """

    def __init__(
        self,
        function: HostFunction,
        launches: Sequence[Launch],
        denied: Collection[Variable],
    ) -> None:
        self._function = function
        self._launches = launches
        self.own: frozenset[Variable] = frozenset()
        self.own = self._only_launched(denied)

    # -- places -----------------------------------------------------------------------------------

    def place(self, extents: Extents, axis: int) -> Place:
        """Return the place that sets an extent."""
        variable, values = extents.variable, extents.values
        if values is None and variable in self.own:
            values = self._values(variable)
        if values is None:
            return self._read(extents, axis)
        if axis >= len(values):
            return Place("1", missing=True)
        span, holder = values[axis], None if extents.values else variable
        for one, _ in self._sources(span):
            if one not in self.own:
                break
            span, holder = (self._values(one) or (span,))[0], one
        return Place(self._function.text(span), span, holder)

    def end(self, extents: Extents) -> int | None:
        """Return where more extents of a ``dim3`` may be added; None where it may not be edited."""
        values = extents.values
        if values is None and extents.variable in self.own:
            values = self._values(extents.variable)
        return values[-1][1] if values and extents.kind is Kind.DIM3 else None

    def formula(self, extents: Extents, axis: int) -> Span | None:
        """Return the value of a variable that may not be edited, if the variable always has it."""
        values = self._values(extents.variable)
        if values is None or axis >= len(values):
            return None
        span = values[axis]
        for one, _ in self._sources(span):
            span = (self._values(one) or (span,))[0]
        return span

    def _read(self, extents: Extents, axis: int) -> Place:
        """Return an extent that can only be read."""
        name = self._function.text(extents.span)
        variable = extents.variable
        if variable is not None:
            name = variable.name
            trusted = self._function.is_read(variable)
            values = self._values(variable) if trusted else None
            if values is not None and axis >= len(values):
                return Place("1", missing=True)
        if extents.kind is Kind.NUMBER:
            return Place(name) if axis == 0 else Place("1", missing=True)
        return Place(f"{name}.{AXES[axis]}")

    def _values(self, variable: Variable | None) -> tuple[Span, ...] | None:
        settled = None if variable is None else self._function.settled(variable)
        return None if settled is None else settled.values

    def _sources(self, span: Span) -> Iterator[tuple[Variable, int]]:
        """Return the variables that a value comes from, each with the offset of its name.

        ``dim3 grid(blocks)`` comes from ``blocks``, and from ``count`` after ``blocks = count``.
        """
        seen: set[Variable] = set()
        while (found := self._named(span)) is not None and found not in seen:
            yield found, span[0]
            seen.add(found)
            values = self._values(found)
            if values is None:
                return
            span = values[0]

    def _named(self, span: Span) -> Variable | None:
        """Return the variable that a text is the name of."""
        text = self._function.text(span)
        found = self._function.find(text, span[0]) if _NAME.fullmatch(text) else None
        return found if found is not None and found.kind is Kind.NUMBER else None

    # -- blocks -----------------------------------------------------------------------------------

    def block(self, extents: Extents, axis: int, *, renewed: bool) -> BlockExtent:
        """Return the threads of a block along an axis.

        Args:
            renewed: whether the block changes.
        """
        names, value, own = self._names(extents, axis)
        place = self.place(extents, axis)
        edited = renewed and place.variable is not None
        simple = _SIMPLE.fullmatch(place.text) and not self._function.is_loose(place.text)
        text = place.text if simple else f"({place.text})"
        if edited or "(" in text[1:]:
            text = ""
        return BlockExtent(text, value, frozenset(names), frozenset(own if edited else ()))

    def _names(self, extents: Extents, axis: int) -> tuple[set[str], int, set[str]]:
        """Return all expressions for an extent of a block, its value if a literal says it (else 0),
        and the names of variables that may be edited."""
        names: set[str] = set()
        own: set[str] = set()
        variable, values = extents.variable, extents.values
        if variable is not None:
            name = (
                variable.name if variable.kind is Kind.NUMBER else f"{variable.name}.{AXES[axis]}"
            )
            names |= {name} if axis == 0 or variable.kind is Kind.DIM3 else set()
            own |= names if variable in self.own else set()
            trusted = variable in self.own or self._function.is_read(variable)
            values = self._values(variable) if trusted or variable.kind is Kind.NUMBER else None
        elif values is None:
            names.add(plain(f"{self._function.text(extents.span)}.{AXES[axis]}"))
        if extents.kind is Kind.NUMBER and axis > 0:
            return names, 1, own
        if values is None or axis >= len(values):
            return names, 0 if values is None else 1, own
        span = values[axis]
        for one, _ in self._sources(span):
            names.add(one.name)
            own |= {one.name} if one in self.own else set()
            span = (self._values(one) or (span,))[0]
        value = literal(self._function.text(span))
        if value is None:
            names.add(plain(self._function.text(span)))
        return names, value or 0, own

    # -- variables that only launches use ---------------------------------------------------------

    def _only_launched(self, denied: Collection[Variable]) -> frozenset[Variable]:
        """Return the variables that nothing but launches of the kernel uses, each for one extent or
        one grid or block."""
        found = {
            one
            for launch in self._launches
            for _, extents in _roles(launch)
            for one, _, _ in self._reached(extents, "")
            if self._function.settled(one) is not None
        } - set(denied)
        before: set[Variable] = set()
        while before != found:
            before, self.own = set(found), frozenset(found)
            allowed: dict[Variable, dict[int, _Role]] = {one: {} for one in found}
            for launch in self._launches:
                for variable, at, role in self._uses(launch):
                    if variable in allowed:
                        allowed[variable][at] = role
            for variable, uses in allowed.items():
                there = self._function.uses(variable)
                if not there <= uses.keys() or len({uses[at] for at in there}) != 1:
                    found.discard(variable)
        return frozenset(found)

    def _uses(self, launch: Launch) -> Iterator[tuple[Variable, int, _Role]]:
        """Return the uses of variables that belong to a launch: in the launch, in values of other
        variables that only launches use, and in formulas for the number of blocks."""
        for role, extents in _roles(launch):
            yield from self._reached(extents, role)
        for axis, letter in enumerate(AXES):
            place = self.place(launch.grid, axis)
            if place.span is None:
                continue
            names, value, _ = self._names(launch.block, axis)
            block = BlockExtent("", value, frozenset(names))
            floating = partial(self._function.floating, at=place.span[0])
            if rounding(place.text, block, floating):
                yield from self._in_formula(place.span, letter, axis, names)

    def _in_formula(
        self, span: Span, letter: str, axis: int, names: Collection[str]
    ) -> Iterator[tuple[Variable, int, _Role]]:
        """Return the uses of a block's variables in a formula for the blocks along an axis."""
        text = self._function.text(span)
        for match in re.finditer(rf"(?<![\w.])([^\W\d]\w*)(\s*\.\s*{letter}\b)?", text):
            at = span[0] + match.start()
            variable = self._function.find(match[1], at)
            if variable is not None and plain(match[0]) in names:
                yield variable, at, ("block", -1 if match[2] else axis)

    def _reached(self, extents: Extents, role: str) -> Iterator[tuple[Variable, int, _Role]]:
        """Return the variables that extents come from, directly or by others, with their uses."""
        variable, values = extents.variable, extents.values
        if variable is not None:
            whole = variable.kind is Kind.DIM3
            yield variable, extents.use, (role, -1 if whole else 0)
            known = variable in self.own or not role
            values = self._values(variable) if known else None
        for axis, span in enumerate(values or ()):
            for one, use in self._sources(span):
                yield one, use, (role, axis)
                if role and one not in self.own:
                    break


def _roles(launch: Launch) -> tuple[tuple[str, Extents], ...]:
    return ("grid", launch.grid), ("block", launch.block)
