"""Launch geometry: as the host code has it, or else a guess from how the kernel counts."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.grammar import SourceLine
from gi_cuda.grammar.frontends.cuda.file import CudaFile
from gi_cuda.init.launching import LaunchSite
from gi_cuda.init.sizes import Extent, bracketed, constant
from gi_cuda.init.sources import Chosen

DEFAULT_BLOCK = 128
"""Threads of a block of which nothing is known."""

_BLOCKS = {1: (str(DEFAULT_BLOCK),), 2: ("16", "8"), 3: ("8", "4", "4")}
_WORD = re.compile(r"[A-Za-z_]\w*")
_ACROSS = re.compile(r"(?i).*(?:w|width|cols?|columns|x)|n")
"""Names of what goes along x."""


@dataclass(frozen=True, slots=True)
class Launching:
    """How the kernel is launched.

    Attributes:
        place: the host code that it was read from, None where it could not be.
        named: the same with the names of macros that are not parameters yet, if that differs.
        notes: what was found out about it, lines.
    """

    grid: tuple[str, ...]
    block: tuple[str, ...]
    shared: str
    place: SourceLine | None = None
    named: str = ""
    notes: tuple[str, ...] = ()


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
    usable |= {extent.name for extent in sizes}
    for use, full in found:
        if use.grid and use.block and _names(use.grid, use.block, (use.shared or "0",)) <= usable:
            named = ""
            if (full.grid, full.block) != (use.grid, use.block):
                named = f"grid = {_list(full.grid)}, block = {_list(full.block)}"
            return Launching(
                use.grid, use.block, use.shared or _shared(source, use.block), use.place, named
            )
    blocks = [use.block for use, _ in found if use.block and _names(use.block) <= usable]
    return _guess(source, blocks[0] if blocks else (), usable, sizes)


def _guess(
    source: Chosen, known: tuple[str, ...], usable: frozenset[str], sizes: Sequence[Extent]
) -> Launching:
    """Enough threads for one each; ``known`` is the block, where only the grid is not known."""
    axes = re.findall(r"Idx\s*\.\s*([xyz])", source.body)
    dimensions = max(["xyz".index(axis) + 1 for axis in axes] + [len(known), 1])
    block = known or tuple(
        _block(source.code, source.body, axis, usable) or default
        for axis, default in zip("xyz", _BLOCKS[dimensions], strict=False)
    )
    block += ("1",) * (dimensions - len(block))
    along = _along([e.name for e in sizes if e.passed], source.constants(), dimensions)
    along = along or [e.name for e in sizes] or ["1"]
    if dimensions == 1:
        along = [" * ".join(along)]
    along += ["1"] * dimensions
    along = [_factor(many) for many in along]
    by = [bracketed(threads) for threads in block]
    grid = tuple(f"({n} + {b} - 1) / {b}" for n, b in zip(along, by, strict=False))
    return Launching(grid, block, _shared(source, block))


def _factor(many: str) -> str:
    """A product as a summand."""
    return many if re.fullmatch(r"[\w *]+", many) else bracketed(many)


def _block(code: CudaFile, body: str, axis: str, usable: frozenset[str]) -> str | None:
    """The size of a block that the kernel itself takes for granted: ``blockIdx.x * TILE``."""
    index = rf"blockIdx\s*\.\s*{axis}"
    if alias := re.search(rf"\b(\w+)\s*=\s*{index}\s*;", body):
        # What it is multiplied by may as well be the length of a row.
        usable &= code.macros.keys()
        index = rf"\b(?:{index}|{alias[1]})\b"
    for match in re.finditer(rf"{index}\s*\*\s*(\w+)(?![\w.])|(\w+)\s*\*\s*{index}", body):
        name = match[1] or match[2]
        if name in usable:
            return name
        value = constant(code, name)
        if value is not None and 1 <= value <= 1024:
            return str(value)
    return None


def _along(passed: list[str], constants: Mapping[str, int], dimensions: int) -> list[str]:
    """How much there is along x, y and z."""
    if passed:
        return sorted(passed, key=_rank)
    values = [str(constants[name]) for name in sorted(constants, key=_rank)]
    if len(values) == 1 and dimensions > 1:
        # One constant that counts along each axis.
        return [str(math.isqrt(int(values[0])))] * 2
    return values


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
