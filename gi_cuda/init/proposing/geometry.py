"""Launch geometry: as the host code has it, or else a guess from how the kernel counts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gi_cuda.grammar import SourceLine
from gi_cuda.init.host.launching import LaunchSite
from gi_cuda.init.kernel.own_block import own_block
from gi_cuda.init.kernel.sizes import Extent, at_a_time, bare, bracketed, large_enough
from gi_cuda.init.kernel.tuning import MOST_THREADS
from gi_cuda.init.source.sources import Chosen
from gi_cuda.spec.expression import ExpressionError, parse

DEFAULT_BLOCK = 128
"""Threads of a block of which nothing is known."""

_BLOCKS = {1: (str(DEFAULT_BLOCK),), 2: ("16", "8"), 3: ("8", "4", "4")}
_SEVERAL = "2"
"""Blocks along a dimension of which the host code has the number from elsewhere."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_GRID = re.compile(
    r"\bgrid_group\s*&?\s*(?P<declared>[A-Za-z_]\w*)|(?P<set>[A-Za-z_]\w*)\s*=[^;=]*\bthis_grid\s*\("
)
"""Where a name is given to the grid."""
_WAITING = r"\b(?:{grids})\s*\.\s*(?:sync|barrier_\w+)\b|\bsync\s*\(\s*(?:{grids})\s*\)"
"""Where blocks wait for each other; the names of the grid go in between."""

_BLOCKS_BEYOND = re.compile(
    r"blockIdx\s*\.\s*y\s*\*\s*gridDim\s*\.\s*x\b|\bgridDim\s*\.\s*x\s*\*\s*blockIdx\s*\.\s*y"
)
"""What goes on counting blocks where there are more than fit along x."""

_NUMBER = re.compile(r"\b(\w+)\s*=\s*[^;={}]*\bblockIdx\b[^;={}]*;")
"""A name for what a thread makes of its block."""

_ACROSS = re.compile(r"(?i).*(?:w|width|cols?|columns|x)|n")
"""Names of what goes along x."""


@dataclass(frozen=True, slots=True)
class Launching:
    """How the kernel is launched.

    Attributes:
        place: the host code that it was read from, None where it could not be.
        named: the same with the names of macros that are not parameters yet, if that differs.
        notes: what was found out about it, lines.
        guessed: whether the grid is a guess nevertheless.
        seen: whether it was seen to be so in a run of the host code.
        assumed: numbers that only a run of the host code tells, and what they are here.
        cooperative: whether its blocks wait for each other.
        times: launches in a run of the program, where its loops say so.
    """

    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared: str
    place: SourceLine | None = None
    named: str = ""
    notes: tuple[str, ...] = ()
    guessed: bool = False
    seen: bool = False
    assumed: Mapping[str, str] = field(default_factory=dict)
    cooperative: bool = False
    times: int = 1

    @property
    def shown(self) -> str:
        """The grid and block, for comments."""
        return f"grid = {_list(self.grid)}, block = {_list(self.block)}"

    def rewritten(self, change: Callable[[str], str]) -> Launching:
        """With each of its expressions changed."""
        return replace(
            self,
            grid=tuple(map(change, self.grid)),
            block=tuple(map(change, self.block)),
            shared=change(self.shared),
        )


def launching(
    source: Chosen,
    found: Sequence[tuple[LaunchSite, LaunchSite]],
    usable: frozenset[str],
    sizes: Sequence[Extent],
) -> Launching:
    """How a kernel is launched.

    Args:
        source: with the types of the kernel's instance.
        found: launches in the host code, each as it is and with the names of all macros.
        usable: names of integers that expressions of a launch may use.
        sizes: what says how much data there is.
    """
    how = _launching(source, found, usable | {extent.name for extent in sizes}, sizes)
    times = max((use.times for use, _ in found if use.place == how.place), default=1)
    return replace(how, cooperative=blocks_wait(source.texts), times=times)


def blocks_wait(functions: Sequence[str]) -> bool:
    """Whether blocks wait for each other in some functions; a grid may only be asked its size."""
    text = "\n".join(functions)
    names = {found["declared"] or found["set"] for found in _GRID.finditer(text)}
    grids = "|".join([r"this_grid\s*\(\s*\)", *sorted(names)])
    return re.search(_WAITING.format(grids=grids), text) is not None


def with_room(
    sizes: tuple[Extent, ...],
    launchings: Sequence[Launching],
    elements: Sequence[str],
    others: Mapping[str, int],
) -> tuple[Extent, ...]:
    """Sizes with which there is one of everything at least, and no more at a time than can be.

    Args:
        elements: of the buffers, as expressions.
        others: further names that expressions use.
    """
    grids = [text for one in launchings for text in one.grid]
    sizes = large_enough(sizes, [*grids, *elements], others)
    for one in launchings:
        if one.cooperative:
            sizes = at_a_time(sizes, (*one.grid, *one.block), others)
    return sizes


def _launching(
    source: Chosen,
    found: Sequence[tuple[LaunchSite, LaunchSite]],
    usable: frozenset[str],
    sizes: Sequence[Extent],
) -> Launching:
    for use, full in found:
        known = use.grid and use.block and _names(use.grid, use.block, (use.shared or "0",))
        if use.grid and use.block and known and known <= usable and _can_be(use.grid, use.block):
            named = ""
            if (full.grid, full.block) != (use.grid, use.block):
                named = f"grid = {_list(full.grid)}, block = {_list(full.block)}"
            shared = use.shared or _shared(source, use.block)
            return Launching(use.grid, use.block, shared, use.place, named)
    for use, _ in found:
        if (read := _assumed(source, use, usable, sizes)) is not None:
            return read
    return _guess(source, (), usable, sizes)


def _assumed(
    source: Chosen, use: LaunchSite, usable: frozenset[str], sizes: Sequence[Extent]
) -> Launching | None:
    """A launch of which a run would tell more, with common numbers for what it would tell.

    None where not even the form of a block can be told."""
    grid, block, shared = use.loose
    if not block:
        return None
    while len(block) > 1 and block[-1] == "1":
        block = block[:-1]
    numbers: dict[str, str] = {}
    for axis, text, number in zip("xyz", block, _BLOCKS[len(block)], strict=False):
        if _WORD.fullmatch(text):
            number = _own(source, axis, usable) or number
        for name in _WORD.findall(text):
            if name not in usable:
                numbers.setdefault(name, number)
    block = tuple(bare(_with(text, numbers)) for text in block)
    if not _can_be(("1",), block):
        return None
    grid = tuple(bare(_with(text, numbers)) for text in grid)
    if any(_names((text,)) <= usable for text in grid):
        # How many there are of what lies along another dimension: some.
        several = {text: _SEVERAL for text in grid if not _names((text,)) <= usable}
        grid = tuple(several.get(text, text) for text in grid)
        numbers = {**several, **numbers}
    shared = bare(_with(shared, numbers))
    if not shared or not _names((shared,)) <= usable:
        shared = _shared(source, block)
    if grid and _names(grid) <= usable and _can_be(grid, block):
        return Launching(grid, block, shared, use.place, assumed=numbers)
    guess = _guess(source, block, usable, sizes)
    return replace(guess, shared=shared, place=use.place, guessed=True, assumed=numbers)


def _with(text: str, numbers: Mapping[str, str]) -> str:
    return _WORD.sub(lambda match: numbers.get(match[0], match[0]), text)


def _can_be(grid: Sequence[str], block: Sequence[str]) -> bool:
    """Whether a device could launch this, as far as numbers tell: nothing is 0 or too large."""
    threads = 1
    for index, text in enumerate((*grid, *block)):
        try:
            value = parse(text).evaluate({})
        except ExpressionError:
            continue
        if value < 1:
            return False
        threads *= value if index >= len(grid) else 1
    return threads <= MOST_THREADS


def _guess(
    source: Chosen, known: tuple[str, ...], usable: frozenset[str], sizes: Sequence[Extent]
) -> Launching:
    """Enough threads for one each; ``known`` is the block, where only the grid is not known."""
    axes = re.findall(r"Idx\s*\.\s*([xyz])", _BLOCKS_BEYOND.sub("", source.body))
    dimensions = max(["xyz".index(axis) + 1 for axis in axes] + [len(known), 1])
    steps = known or tuple(
        _own(source, axis, usable) or default
        for axis, default in zip("xyz", _BLOCKS[dimensions], strict=False)
    )
    steps += ("1",) * (dimensions - len(steps))
    threads = set(re.findall(r"threadIdx\s*\.\s*([xyz])", source.body))
    block = tuple(
        # A block that has no threads along an axis goes through its part by itself.
        text if known or axis in threads or not threads else "1"
        for axis, text in zip("xyz", steps, strict=False)
    )
    along = _along([e.name for e in sizes if e.passed], source.constants())
    along = along or [e.name for e in sizes] or ["1"]
    if dimensions == 1:
        compared = _compared_with_threads(source.body, along)
        along = compared if len(compared) == 1 else [" * ".join(along)]
    along += ["1"] * dimensions
    along = [_factor(many) for many in along]
    by = [bracketed(step) for step in steps]
    grid = tuple(f"({n} + {b} - 1) / {b}" for n, b in zip(along, by, strict=False))
    return Launching(grid, block, _shared(source, block))


def _own(source: Chosen, axis: str, usable: frozenset[str]) -> str | None:
    """See :func:`own_block`; of an instance, with the numbers that its template has."""
    own = {one.name: source.types.aliases.get(one.name, "") for one in source.kernel.templates}
    numbers = {name: text for name, text in own.items() if text.isdigit()}
    return own_block(source.code, _with(source.body, numbers), axis, usable)


def _compared_with_threads(body: str, sizes: Sequence[str]) -> list[str]:
    """Those sizes with which a kernel compares the number of a thread among all."""
    numbers = [match[1] for match in _NUMBER.finditer(body) if "threadIdx" in match[0]]
    threads = "|".join(dict.fromkeys(numbers))
    compared = rf"\b(?:{threads})\s*(?:<|>=)\s*{{}}\b(?!\s*[-+*/%\[(.])"
    return [one for one in sizes if threads and re.search(compared.format(re.escape(one)), body)]


def _factor(many: str) -> str:
    """A product as a summand."""
    return many if re.fullmatch(r"[\w *]+", many) else bracketed(many)


def _along(passed: list[str], constants: Mapping[str, int]) -> list[str]:
    """How much there is along x, y and z."""
    if passed:
        return sorted(passed, key=_rank)
    return [str(constants[name]) for name in sorted(constants, key=_rank)]


def _rank(name: str) -> bool:
    return _ACROSS.fullmatch(name) is None


def _list(texts: Sequence[str] | None) -> str:
    return "[" + ", ".join(f'"{text}"' for text in texts or ()) + "]"


def _names(*texts: Sequence[str]) -> set[str]:
    return {word for group in texts for text in group for word in _WORD.findall(text)}


def _shared(source: Chosen, block: Sequence[str]) -> str:
    """An element per thread for an ``extern __shared__`` array, if there is one."""
    array = r"extern\s+__shared__\s+(?:__align__\(\d+\)\s*)?([\w:\s]+?)\s+\w+\s*\["
    match = re.search(array, source.body)
    if match is None:
        return "0"
    element = source.types.element(match[1])
    threads = " * ".join(bracketed(one) for one in block)
    return f"{threads} * {8 if element is None else element.bytes}"
