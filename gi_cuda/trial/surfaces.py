"""Surfaces of which nothing says how large they are, with room for what a kernel writes there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import zip_longest

from gi_cuda.init import Proposal
from gi_cuda.init.kernel.sizes import bracketed
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.trial.changes import Mend

_WORD = re.compile(r"[A-Za-z_]\w*")
_TEXELS = (1, 2, 4)
"""That each thread may have along a row: parts of a vector, one behind the other."""
_NOTE = "texels for each thread of the launch"


def with_texels(proposal: Proposal) -> Iterator[Mend]:
    """Surfaces of a size that was assumed with some texels for each thread."""
    for texels in _TEXELS:
        if (threads := _threads(proposal, texels)) is not None:
            sized = tuple(_sized(one, threads) for one in proposal.buffers)
            if sized != proposal.buffers:
                mended = replace(proposal, buffers=sized)
                yield Mend(mended, f"surfaces with {texels} texels for each thread of a row")


def _threads(proposal: Proposal, texels: int) -> tuple[str, ...] | None:
    """How many texels there are along each axis; None where a parameter decides that."""
    launch = proposal.launching
    axes = zip_longest(launch.grid, launch.block, ("1",) * 3, fillvalue="1")
    found = [f"{bracketed(grid)} * {bracketed(block)}" for grid, block, _ in axes]
    found[0] += f" * {texels}" if texels > 1 else ""
    known = set(_WORD.findall(" ".join(found))) <= set(proposal.counts)
    return tuple(found) if known else None


def _sized(buffer: ProposedBuffer, threads: tuple[str, ...]) -> ProposedBuffer:
    image = buffer.image
    if image is None or not image.surface or not image.size or image.layered:
        return buffer
    if not all(text.isdigit() for text in image.size):
        return buffer
    size = threads[: image.dimensions]
    notes = replace(buffer.notes, size=_NOTE)
    elements = " * ".join(map(bracketed, size))
    return replace(buffer, image=replace(image, size=size), elements=elements, notes=notes)
