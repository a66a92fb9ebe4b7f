"""Launch configuration of a kernel: from host code, otherwise guessed from its indices."""

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
"""Assumed number of threads of a block."""

_BLOCKS = {1: (str(DEFAULT_BLOCK),), 2: ("16", "8"), 3: ("8", "4", "4")}
_SEVERAL = "2"
"""Assumed number of blocks along a dimension that host code does not tell."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_GRID = re.compile(
    r"\bgrid_group\s*&?\s*(?P<declared>[A-Za-z_]\w*)|(?P<set>[A-Za-z_]\w*)\s*=[^;=]*\bthis_grid\s*\("
)
"""Pattern of declarations of a variable for the grid group."""
_WAITING = r"\b(?:{grids})\s*\.\s*(?:sync|barrier_\w+)\b|\bsync\s*\(\s*(?:{grids})\s*\)"
"""Pattern of grid-wide synchronization, to be filled with the names of the grid group."""

_BLOCKS_BEYOND = re.compile(
    r"blockIdx\s*\.\s*y\s*\*\s*gridDim\s*\.\s*x\b|\bgridDim\s*\.\s*x\s*\*\s*blockIdx\s*\.\s*y"
)
"""Pattern of block numbers that continue along y, if there are too many for x."""

_NUMBER = re.compile(r"\b(\w+)\s*=\s*[^;={}]*\bblockIdx\b[^;={}]*;")
"""Pattern of a variable that is computed from the block index."""

_ACROSS = re.compile(r"(?i).*(?:w|width|cols?|columns|x)|n")
"""Names of sizes that lie along x."""


@dataclass(frozen=True, slots=True)
class Launching:
    """Launch configuration of a kernel.

    Attributes:
        grid, block: expressions, one for each dimension.
        shared: bytes of dynamic shared memory, an expression.
        place: the host code that it was read from; None if it was not.
        named: grid and block with the names of macros that are not parameters yet, if different.
        notes: remarks, one per line.
        guessed: True if the grid is a guess although host code was found.
        seen: True if it was observed in a run of the host code.
        assumed: assumed values of numbers that only a run of the host code tells.
        cooperative: True if the kernel synchronizes the whole grid.
        times: launches in a run of the program, by the loops around; 1 if unknown.
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
        """Return grid and block as text for comments."""
        return f"grid = {_list(self.grid)}, block = {_list(self.block)}"

    def rewritten(self, change: Callable[[str], str]) -> Launching:
        """Return the configuration with a function applied to each of its expressions."""
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
    """Return the launch configuration of a kernel.

    Args:
        source: the source, with the types of the kernel's instance.
        found: launches in host code, each with the names of active parameters and with the names
            of all macros.
        usable: names of integers that expressions may use.
        sizes: the scalars that say how much data there is.
    """
    how = _launching(source, found, usable | {extent.name for extent in sizes}, sizes)
    times = max((use.times for use, _ in found if use.place == how.place), default=1)
    return replace(how, cooperative=blocks_wait(source.texts), times=times)


def blocks_wait(functions: Sequence[str]) -> bool:
    """Tell whether functions synchronize the whole grid; a grid group alone does not count."""
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
    """Adjust sizes: at least one block and item of everything; cooperative grids fit a small GPU.

    Args:
        elements: sizes of the buffers, as expressions.
        others: values of further names in expressions.
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
    """Return the configuration of a launch, with common values for what only a run would tell.

    None if not even the dimensions of the block are known.
    """
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
        # Unknown dimensions of a grid that is known otherwise: assume a few blocks.
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
    """Tell whether a launch is valid as far as its values are known: nothing is 0 or too large."""
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
    """Guess a configuration with a thread for each item; a block in `known` is kept."""
    axes = re.findall(r"Idx\s*\.\s*([xyz])", _BLOCKS_BEYOND.sub("", source.body))
    dimensions = max(["xyz".index(axis) + 1 for axis in axes] + [len(known), 1])
    steps = known or tuple(
        _own(source, axis, usable) or default
        for axis, default in zip("xyz", _BLOCKS[dimensions], strict=False)
    )
    steps += ("1",) * (dimensions - len(steps))
    threads = set(re.findall(r"threadIdx\s*\.\s*([xyz])", source.body))
    block = tuple(
        # Without a thread index along an axis, each thread loops over that part itself.
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
    """Return the block size that a kernel assumes along an axis, for an instance of a template.

    See :func:`own_block`.
    """
    own = {one.name: source.types.aliases.get(one.name, "") for one in source.kernel.templates}
    numbers = {name: text for name, text in own.items() if text.isdigit()}
    return own_block(source.code, _with(source.body, numbers), axis, usable)


def _compared_with_threads(body: str, sizes: Sequence[str]) -> list[str]:
    """Return the sizes that a kernel compares its global thread index with."""
    numbers = [match[1] for match in _NUMBER.finditer(body) if "threadIdx" in match[0]]
    threads = "|".join(dict.fromkeys(numbers))
    compared = rf"\b(?:{threads})\s*(?:<|>=)\s*{{}}\b(?!\s*[-+*/%\[(.])"
    return [one for one in sizes if threads and re.search(compared.format(re.escape(one)), body)]


def _factor(many: str) -> str:
    """Return a size as a summand."""
    return many if re.fullmatch(r"[\w *]+", many) else bracketed(many)


def _along(passed: list[str], constants: Mapping[str, int]) -> list[str]:
    """Return the sizes along x, y and z."""
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
    """Return bytes for an element per thread of an ``extern __shared__`` array; "0" without one."""
    array = r"extern\s+__shared__\s+(?:__align__\(\d+\)\s*)?([\w:\s]+?)\s+\w+\s*\["
    match = re.search(array, source.body)
    if match is None:
        return "0"
    element = source.types.element(match[1])
    threads = " * ".join(bracketed(one) for one in block)
    return f"{threads} * {8 if element is None else element.bytes}"
