"""Rewriter of the launches of transformed kernels in the source.

With the shape ``{"k.threads.x": 128, "k.items.x": 4}``, before and after::

    k<<<(n + 255) / 256, 256>>>(a, n);

    k<<<(n + 511) / 512, 128>>>(a, n);

Where a variable that only launches of the kernel use says the grid or the block, its value is
rewritten; else the launch itself: ``k<<<(blocks + 1) / 2, 128>>>(a, n)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from gi_cuda.grammar.frontends.cuda.transforms.code import AXES, Code
from gi_cuda.grammar.frontends.cuda.transforms.host_code.extents import Place, Values
from gi_cuda.grammar.frontends.cuda.transforms.host_code.formulas import (
    BlockExtent,
    new_blocks,
    rewritten,
    with_old_block,
)
from gi_cuda.grammar.frontends.cuda.transforms.host_code.functions import (
    HostFunction,
    Span,
    Variable,
)
from gi_cuda.grammar.frontends.cuda.transforms.host_code.kinds import Kind
from gi_cuda.grammar.frontends.cuda.transforms.host_code.launches import (
    Extents,
    Launch,
    LaunchReader,
    UnknownLaunch,
)
from gi_cuda.grammar.splice import Splice, replacing
from gi_cuda.spec.launching.shape import InexactLaunch, Shape


@dataclass(frozen=True, slots=True)
class LaunchText:
    """The changes of a source's launches.

    Attributes:
        splices: the changes of the text.
        unknown: the kernels of which no launch is changed: the source has none, or has one that is
            not understood.
    """

    splices: tuple[Splice, ...] = ()
    unknown: tuple[str, ...] = ()


def launch_splices(code: Code, shape: Mapping[str, int]) -> LaunchText:
    """Rewrite the launches of the kernels that a shape names.

    Args:
        shape: how launches change, by the keys of :class:`gi_cuda.spec.launching.shape.Shape`.
    """
    reader = LaunchReader(code)
    splices: list[Splice] = []
    unknown = []
    for kernel in dict.fromkeys(key.partition(".")[0] for key in shape):
        shapes = [Shape.of(kernel, axis, shape) for axis in AXES]
        try:
            splices += _of_kernel(reader.launches(kernel), shapes)
        except UnknownLaunch:
            unknown.append(kernel)
    return LaunchText(tuple(sorted(splices)), tuple(unknown))


def _of_kernel(launches: Sequence[Launch], shapes: Sequence[Shape]) -> list[Splice]:
    """Rewrite the launches of a kernel.

    Raises:
        UnknownLaunch: the number of blocks is not certain.
    """
    found = []
    for function in dict.fromkeys(one.function for one in launches):
        own = [one for one in launches if one.function is function]
        found += [
            replacing(start, end, text)
            for (start, end), text in _in_function(function, own, shapes).items()
        ]
    return found


def _in_function(
    function: HostFunction, launches: Sequence[Launch], shapes: Sequence[Shape]
) -> dict[Span, str]:
    """Return the new texts of spans of a function that launches a kernel.

    Raises:
        UnknownLaunch: the number of blocks is not certain.
    """
    denied: frozenset[Variable] = frozenset()
    while True:
        edits = _Edits(function, Values(function, launches, denied))
        try:
            for launch in launches:
                edits.add(launch, shapes)
        except _Contradiction as error:
            denied |= error.variables
        else:
            return edits.changed


class _Contradiction(Exception):
    """Variables cannot have the values that a rewrite of launches gives them.

    Attributes:
        variables: the variables.
    """

    def __init__(self, variables: frozenset[Variable]) -> None:
        super().__init__()
        self.variables = variables


class _Edits:
    """The edits of one function.

    Args:
        function: the function.
        values: the places that say the extents of its launches.
    """

    def __init__(self, function: HostFunction, values: Values) -> None:
        self._function = function
        self._values = values
        self._texts: dict[Span, str] = {}

    @property
    def changed(self) -> dict[Span, str]:
        """Return the new text of each span that changes."""
        return {
            span: text for span, text in self._texts.items() if text != self._function.text(span)
        }

    def add(self, launch: Launch, shapes: Sequence[Shape]) -> None:
        """Add the edits of a launch.

        Raises:
            _Contradiction: a variable would get two values, or none.
            UnknownLaunch: the number of blocks is not certain.
        """
        grid = [self._values.place(launch.grid, axis) for axis in range(len(AXES))]
        block = [self._values.place(launch.block, axis) for axis in range(len(AXES))]
        blocks, threads = [], []
        for axis, shape in enumerate(shapes):
            if shape.exact or shape.kept:
                number, size = self._exact(launch, axis, grid[axis], block[axis], shape)
            else:
                number = self._blocks(launch, axis, grid[axis], shape)
                size = self._threads(launch, axis, block[axis].text, shape)
            blocks.append(number)
            threads.append(size)
        self._write(launch.grid, grid, blocks)
        self._write(launch.block, block, threads)

    def _threads(self, launch: Launch, axis: int, old: str, shape: Shape) -> str:
        """Return the new number of threads along an axis."""
        block = self._values.block(launch.block, axis, renewed=True)
        return old if shape.threads in (0, block.value) else str(shape.threads)

    def _blocks(self, launch: Launch, axis: int, place: Place, shape: Shape) -> str:
        """Return the new number of blocks along an axis."""
        block = self._values.block(launch.block, axis, renewed=bool(shape.threads))
        floating = partial(self._function.floating, at=launch.grid.span[0])
        span = self._values.formula(launch.grid, axis) if place.span is None else None
        if shape.threads and span and self._function.is_steady(span, launch.grid.span[0]):
            found = rewritten(self._function.text(span), block, shape, floating)
            if found is not None and found != self._function.text(span):
                return found
        old = place.text
        operand = self._operand(old)
        found = new_blocks(operand, block, shape, floating)
        if found is None:
            self._give_up(self._values.own)
        return old if found is None or found == operand else found

    def _exact(
        self, launch: Launch, axis: int, grid: Place, block: Place, shape: Shape
    ) -> tuple[str, str]:
        """Return the new numbers of blocks and threads along an axis, for just the old work.

        With four blocks of 64 threads for one of 256, ``n / 256`` becomes ``n / 256 * 4``; it stays
        where the grid is kept.

        Raises:
            UnknownLaunch: the old block is no constant, or no whole number of new ones.
        """
        known = self._values.block(launch.block, axis, renewed=True)
        at, own = launch.grid.span[0], self._operand(block.text)
        value = known.value or self._function.constant(block.text, at)
        if not value:
            raise UnknownLaunch
        try:
            times, threads = shape.extents(1, value)
        except InexactLaunch:
            raise UnknownLaunch from None
        if known.value:
            size = block.text if threads == value else str(threads)
            own, scale = str(value), Shape(times=times)
        else:  # the name stays in the texts: an edit may change the constant
            size = str(threads) if shape.threads else f"{own} / {shape.items}"
            scale = shape if shape.threads and shape.exact else Shape()
        if shape.kept:
            scale = Shape(items=shape.items, times=shape.times)
        number = self._operand(grid.text)
        if size != block.text:
            number = with_old_block(number, known, own)
        floating = partial(self._function.floating, at=at)
        found = new_blocks(number, BlockExtent(own), scale, floating)
        if found is None:
            raise UnknownLaunch
        return grid.text if found == self._operand(grid.text) else found, size

    def _operand(self, text: str) -> str:
        """Return an expression with parentheses around a macro that needs them."""
        return f"({text})" if self._function.is_loose(text) else text

    def _give_up(self, variables: frozenset[Variable]) -> None:
        """Leave variables as they are, and edit launches instead."""
        if not variables:
            raise UnknownLaunch
        raise _Contradiction(variables)

    def _write(self, extents: Extents, places: Sequence[Place], new: Sequence[str]) -> None:
        """Edit a grid or a block where its extents are said."""
        for place, text in zip(places, new, strict=True):
            if place.variable is not None and place.span is not None:
                self._put(place.span, text, place.variable)
        changed = [axis for axis in range(len(AXES)) if new[axis] != places[axis].text]
        end = self._values.end(extents)
        if end is not None:
            for axis in changed:
                if (span := places[axis].span) is not None:
                    self._put(span, new[axis], places[axis].variable)
            beyond = [axis for axis in changed if places[axis].missing]
            first = next((axis for axis, one in enumerate(places) if one.missing), len(AXES))
            more = new[first : beyond[-1] + 1] if beyond else ()
            self._put((end, end), "".join(f", {one}" for one in more), extents.variable)
        elif any(places[axis].variable is None for axis in changed):
            self._put(extents.span, self._anew(extents, places, new, changed[-1]), None)

    def _anew(
        self, extents: Extents, places: Sequence[Place], new: Sequence[str], last: int
    ) -> str:
        """Return a grid or a block as an argument of the launch: ``128`` or ``dim3(32, 8)``."""
        texts = list(new)
        if places[0].variable is not None:
            texts[0] = self._function.text(extents.span)
        while last + 1 < len(AXES) and not places[last + 1].missing:
            last += 1
        if extents.kind is Kind.NUMBER and last == 0:
            return texts[0]
        return f"dim3({', '.join(texts[: last + 1])})"

    def _put(self, span: Span, text: str, variable: Variable | None) -> None:
        """Give a span a text.

        Raises:
            _Contradiction: another launch gives it another one.
        """
        if self._texts.setdefault(span, text) != text:
            self._give_up(frozenset([variable] if variable is not None else []))
