"""Mends of sizes: of those that take long, or too short a time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from gi_cuda.init import Proposal
from gi_cuda.init.kernel.sizes import Extent
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.trial.changes import Mend, multiplied, resized, with_buffer, with_scalars
from gi_cuda.trial.facts import is_handy
from gi_cuda.trial.grids import fewer_blocks, following
from gi_cuda.trial.troubles import Brief, Slow

GOAL = 0.002
"""Seconds a case should take on the host: it is run some hundred times by a check."""

BRIEF = 0.00005
"""Seconds below which clocks and what else the machine does are a large part of a launch."""

GPU_GOAL = 0.4
"""Seconds that a case for a GPU should take on the host, whose processor is some thousand times
slower. A launch takes a GPU some microseconds, whatever it does."""

GPU_BRIEF = GPU_GOAL / 4
"""Seconds there below which it is made to take longer."""

_TIMED = 0.0002
"""Seconds that such a launch is made to take."""

_LEAST = 16
"""No size gets smaller, if it was not before, so that blocks have something to do."""

_OVER = 16
"""The factor by which what was ended for its time is made smaller."""

_LARGE = 4096
"""Items of a buffer that take no time."""

_WORD = re.compile(r"[A-Za-z_]\w*")


_BLOCKS = {1: (("32",), ("16",), ("256",)), 2: (("16", "16"), ("8", "8"), ("32", "32"))}
"""Of which one is tried where nothing says what a block has."""


def other_block(proposal: Proposal) -> Mend | None:
    """The next size of a block where the source does not say it; None after the last one.

    A kernel that takes another one for granted reads shared memory that nobody has set.
    """
    launching = proposal.launching
    now = tuple(text for text in launching.block if text != "1")
    tried = _BLOCKS.get(len(launching.block), ())
    if launching.place is not None or not all(text.isdigit() for text in launching.block):
        return None
    at = tried.index(now) + 1 if now in tried else 0
    return None if at == len(tried) else _with_block(proposal, tried[at])


def _with_block(proposal: Proposal, block: tuple[str, ...]) -> Mend:
    launching = proposal.launching
    now = tuple(text for text in launching.block if text != "1")
    shared = launching.shared
    grid = tuple(
        re.sub(rf"\b{old}\b", new, text)
        for text, old, new in zip(launching.grid, launching.block, block, strict=False)
    )
    if now and not shared.isdigit():
        shared = shared.replace(" * ".join(now), " * ".join(block))
    changed = replace(launching, grid=grid, block=block, shared=shared)
    return Mend(replace(proposal, launching=changed), f"a block of {' x '.join(block)}")


def faster(proposal: Proposal, trouble: Slow) -> Iterator[Mend]:
    """Less to do: smaller sizes, fewer blocks, fewer rounds."""
    factor = _OVER if trouble.over else max(2, math.ceil(trouble.seconds / GOAL))
    before, proposal = proposal, following(proposal)
    if (tried := fewer_blocks(_smaller(proposal, factor), factor)) != proposal:
        yield Mend(tried, "smaller sizes")
    if before != proposal:
        yield Mend(fewer_blocks(_smaller(before, factor), factor), "smaller sizes, fixed ones")
    tried = with_scalars(
        proposal,
        lambda s: max(1, int(s.value) // min(factor, _OVER)) if s.value > 4 else int(s.value),
        "made smaller, so that a launch takes milliseconds",
    )
    if tried != proposal:
        yield Mend(tried, "smaller scalars")


def longer(proposal: Proposal, trouble: Brief) -> Iterator[Mend]:
    """Larger sizes, so that a launch can be timed."""
    note = "such that a launch can be timed, and takes no more than milliseconds"
    for factor in dict.fromkeys((math.ceil(_TIMED / max(trouble.seconds, 1e-6)), 4)):
        each = max(2, round(factor ** (1 / max(1, len(proposal.counts)))))
        tried = multiplied(proposal, each, note)
        if tried != proposal and is_handy(tried):
            yield Mend(tried, "larger sizes")


def _smaller(proposal: Proposal, factor: float) -> Proposal:
    """With smaller sizes, also of buffers that have a fixed one."""
    fixed = [b for b in proposal.buffers if b.symbol is None and _fixed_size(b) > _LARGE]
    for buffer in fixed:
        size = _fixed_size(buffer)
        first = buffer.grown or str(size)
        smaller = str(max(_LARGE, int(size // factor)))
        # It may have grown beyond what the source says.
        less = first.isdigit() and int(first) >= size
        was = f"{first} of the source" if less else f"{size} before"
        note = f"less than the {was}, so that a launch takes milliseconds"
        notes = replace(buffer.notes, size=note)
        proposal = with_buffer(
            proposal, replace(buffer, elements=smaller, grown=first, notes=notes)
        )
    settled = {one.name for one in _of_block(proposal) if one.train == one.held_out == one.device}
    shrinking = [
        one
        for one in proposal.extents
        if not one.blocks and max(one.train, one.held_out) > _LEAST and one.name not in settled
    ]
    if not shrinking:
        return proposal
    # What was a multiple of blocks and tiles, which are powers of two, still is.
    each = 1 << max(1, round(math.log2(factor) / len(shrinking)))

    def change(one: Extent, size: int) -> int:
        return size if one.name in settled else max(min(size, _LEAST), size // each)

    note = "smaller than they were at first, so that a launch takes milliseconds"
    return resized(proposal, change, note)


def _fixed_size(buffer: ProposedBuffer) -> int:
    """How many items a buffer has, where that is a plain number; else 0."""
    return int(buffer.elements) if buffer.elements and buffer.elements.isdigit() else 0


def _of_block(proposal: Proposal) -> list[Extent]:
    """The sizes of data that say how many threads a block has."""
    names = set(_WORD.findall(" ".join(proposal.launching.block)))
    return [one for one in proposal.extents if one.name in names]
