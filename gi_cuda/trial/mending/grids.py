"""Reduce grids of fixed size on the host, and buffers that have an item for each thread or block.

``k<<<8192, 128>>>(a)`` with 1048576 items in ``a`` has an item for each thread. With 64 blocks
and all these items, most of the data would never be used, but still be made and compared.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from gi_cuda.init import Proposal
from gi_cuda.init.kernel.sizes import Extent
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.init.proposing.cases import TRAIN
from gi_cuda.spec.expression import ExpressionError, parse
from gi_cuda.trial.facts import JUDGED, names, plan

_WORD = re.compile(r"[A-Za-z_]\w*")
_BLOCK_NAMES = ("blocks", "blocks_y", "blocks_z", *(f"gi_blocks_{n}" for n in range(3)))
"""Names for the number of blocks along a dimension; the first that is free is taken."""

_LARGE = 4096
"""Size of an input from which on it is probably no table, but has an item for each thread."""

_LEAST = 2
"""Smallest number of blocks along a dimension."""

_SHARE = 0.75
"""Blocks of a held-out case, relative to the train case, if the proposal has no sizes."""

_NOTE = "fewer than the {} of the source, so that a launch takes milliseconds"
_FOLLOWS = "{} in the source, and as many less as there are fewer blocks"


def fewer_blocks(proposal: Proposal, factor: float) -> Proposal:
    """Reduce the fixed dimensions of a grid on the host by a factor; on a GPU they stay.

    Held-out cases have still fewer blocks if they differ in nothing else.
    """
    share = 1.0 if any(not one.blocks for one in proposal.extents) else _SHARE
    left = int(factor)
    for axis, text in enumerate(proposal.launching.grid):
        blocks = _blocks(proposal, text)
        if blocks is None or blocks.train <= _LEAST or left < 2:
            continue
        fewer = max(_LEAST, blocks.train // left)
        held_out = max(_LEAST, int(share * fewer))
        left //= -(-blocks.train // fewer)
        note = _NOTE.format(blocks.device if blocks in proposal.extents else text)
        blocks = replace(blocks, train=fewer, held_out=held_out, note=blocks.note or note)
        proposal = _with_blocks(proposal, axis, blocks)
    return proposal


def following(proposal: Proposal) -> Proposal:
    """Express fixed sizes of buffers by the number of blocks or threads; values stay the same."""
    grid = [_blocks(proposal, text) for text in proposal.launching.grid]
    settled = any(one.blocks for one in proposal.extents) or proposal.further
    if settled or None in grid or math.prod(one.train for one in grid if one) < 2:
        return proposal
    named = proposal
    for axis, text in enumerate(proposal.launching.grid):
        blocks = _blocks(named, text)
        if blocks is not None and blocks.train > 1:
            named = _with_blocks(named, axis, blocks)
    own = _own(proposal)
    buffers = tuple(_following(named, one, own) for one in proposal.buffers)
    if buffers == proposal.buffers:
        return proposal
    used = {word for one in buffers for word in _WORD.findall(one.ahead(proposal.counts))}
    extents = tuple(one for one in named.extents if one.name not in own or one.name in used)
    return replace(named, buffers=buffers, extents=extents)


def _following(named: Proposal, buffer: ProposedBuffer, own: frozenset[str]) -> ProposedBuffer:
    """Express the size of a buffer by the number of blocks, or return it unchanged.

    Args:
        named: the proposal, with names for numbers of blocks.
        own: sizes that only buffers depend on.
    """
    size = buffer.ahead(named.counts)
    if buffer.symbol or buffer.texture or not set(_WORD.findall(size)) <= own:
        return buffer
    items = parse(size).evaluate(names(named, TRAIN))
    text = _by_blocks(named, items) if buffer.role in JUDGED or items > _LARGE else None
    if text is None:
        return buffer
    notes = replace(buffer.notes, size=_FOLLOWS.format(items))
    return replace(buffer, elements=text, whole=str(items), grown="", notes=notes)


def _by_blocks(named: Proposal, items: int) -> str | None:
    """Return an expression of blocks for a number of items; None if it is not a multiple.

    With an item for each thread, the last block may be only partly used.
    """
    launch, given = plan(named, TRAIN), {one.name for one in named.extents}
    if given & set(_WORD.findall(" ".join(named.launching.block))):
        return None
    blocks, block = math.prod(launch.grid), math.prod(launch.block)
    every = " * ".join(one.name for one in named.extents if one.blocks)
    each, rest = divmod(items, blocks)
    if blocks * block - block < items <= blocks * block:
        return f"{every} * {block}"
    return None if rest else every if each == 1 else f"{every} * {each}"


def _own(proposal: Proposal) -> frozenset[str]:
    """Return sizes that are equal in all cases on the host, and that only buffers depend on."""
    launching = proposal.launching
    texts = [*launching.grid, *launching.block, launching.shared]
    texts += [one.computed for one in proposal.scalars if one.computed is not None]
    said = {word for text in texts for word in _WORD.findall(text)}
    return frozenset(
        one.name
        for one in proposal.extents
        if one.name not in said and not one.passed and one.train == one.held_out
    )


def _blocks(proposal: Proposal, text: str) -> Extent | None:
    """Return the number of blocks along a dimension that does not depend on sizes."""
    words = set(_WORD.findall(text))
    own = next((e for e in proposal.extents if e.blocks and e.name in words), None)
    if own is not None:
        return own
    known = names(proposal, TRAIN)
    number = _fixed(text, known, _sized(proposal))
    if number is None:
        return None
    taken = {*known, *(b.name for b in proposal.buffers), *(s.name for s in proposal.scalars)}
    name = next(name for name in _BLOCK_NAMES if name not in taken)
    return Extent(name, False, number, number, number, blocks=True)


def _with_blocks(proposal: Proposal, axis: int, blocks: Extent) -> Proposal:
    """Set the number of blocks along a dimension, by name."""
    grid = list(proposal.launching.grid)
    if blocks.name not in _WORD.findall(grid[axis]):
        grid[axis] = blocks.name
    others = tuple(one for one in proposal.extents if one.name != blocks.name)
    launching = replace(proposal.launching, grid=tuple(grid))
    return replace(proposal, launching=launching, extents=(*others, blocks))


def _sized(proposal: Proposal) -> set[str]:
    """Return the names whose values depend on sizes."""
    sized = {extent.name for extent in proposal.extents}
    for _ in proposal.scalars:
        sized |= {
            one.name
            for one in proposal.scalars
            if one.computed and sized & set(_WORD.findall(one.computed))
        }
    return sized


def _fixed(text: str, known: dict[str, int], extents: set[str]) -> int | None:
    """Return the value of a dimension that does not depend on sizes; None otherwise."""
    try:
        expression = parse(text)
        return None if expression.names & extents else expression.evaluate(known)
    except ExpressionError:
        return None
