"""Fixes of sizes, for cases that are too slow or too short."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from gi_cuda.init import Proposal
from gi_cuda.init.kernel.sizes import Extent
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.trial.facts import is_handy
from gi_cuda.trial.mending.changes import Mend, multiplied, resized, with_buffer, with_scalars
from gi_cuda.trial.mending.grids import fewer_blocks, following
from gi_cuda.trial.troubles import Brief, Slow

GOAL = 0.002
"""Seconds that a case should take on the host; a check runs it some hundred times."""

BRIEF = 0.00005
"""Seconds below which timer resolution and other noise dominate a launch."""

GPU_GOAL = 0.4
"""Seconds that a GPU case should take on the host, which is about a thousand times slower.

Any launch takes a GPU some microseconds.
"""

GPU_BRIEF = GPU_GOAL / 4
"""Seconds on the host below which a GPU case is made longer."""

_TIMED = 0.0002
"""Seconds that a launch below BRIEF is extended to."""

_LEAST = 16
"""Smallest size that others are reduced to, so that blocks have something to do."""

_OVER = 16
"""Factor by which sizes are reduced after a timeout."""

_LARGE = 4096
"""Number of items of a buffer below which it is not reduced."""

_WORD = re.compile(r"[A-Za-z_]\w*")


_BLOCKS = {1: (("32",), ("16",), ("256",)), 2: (("16", "16"), ("8", "8"), ("32", "32"))}
"""Blocks to try if the source does not tell the block size, by number of dimensions."""


def other_block(proposal: Proposal) -> Mend | None:
    """Return the next block size to try if the source does not tell it; None after the last one.

    A kernel that assumes a larger block reads uninitialized shared memory.
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
    """Yield proposals with less work: smaller sizes, fewer blocks, fewer iterations."""
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
    """Yield proposals with larger sizes, so that a launch can be timed."""
    note = "such that a launch can be timed, and takes no more than milliseconds"
    for factor in dict.fromkeys((math.ceil(_TIMED / max(trouble.seconds, 1e-6)), 4)):
        each = max(2, round(factor ** (1 / max(1, len(proposal.counts)))))
        tried = multiplied(proposal, each, note)
        if tried != proposal and is_handy(tried):
            yield Mend(tried, "larger sizes")


def _smaller(proposal: Proposal, factor: float) -> Proposal:
    """Reduce sizes, and buffers of fixed size."""
    fixed = [b for b in proposal.buffers if b.symbol is None and _fixed_size(b) > _LARGE]
    for buffer in fixed:
        size = _fixed_size(buffer)
        first = buffer.grown or str(size)
        smaller = str(max(_LARGE, int(size // factor)))
        # The buffer may have been enlarged beyond the size in the source.
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
    # Powers of two keep most multiples of blocks and tiles.
    each = 1 << max(1, round(math.log2(factor) / len(shrinking)))

    def change(one: Extent, size: int) -> int:
        return size if one.name in settled else max(min(size, _LEAST), size // each)

    note = "smaller than they were at first, so that a launch takes milliseconds"
    return resized(proposal, change, note)


def _fixed_size(buffer: ProposedBuffer) -> int:
    """Return the size of a buffer if it is a plain number; else 0."""
    return int(buffer.elements) if buffer.elements and buffer.elements.isdigit() else 0


def _of_block(proposal: Proposal) -> list[Extent]:
    """Return the sizes that determine the block size."""
    names = set(_WORD.findall(" ".join(proposal.launching.block)))
    return [one for one in proposal.extents if one.name in names]
