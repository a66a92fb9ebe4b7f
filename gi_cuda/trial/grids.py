"""Grids of which no size of data says how many blocks there are: fewer of them on the host, where
buffers that are made for as many have less room.

``k<<<8192, 128>>>(a)`` with 1048576 items in ``a`` has an item for each thread. With 64 blocks and
all these items, most of what there is would never be touched, and yet be made and compared.
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
"""For how many blocks there are along a dimension; one is free."""

_LARGE = 4096
"""Items of an input that is hardly a table, which threads share."""

_LEAST = 2
"""Blocks along a dimension, at least."""

_SHARE = 0.75
"""Of the blocks of a train case, what a held-out one has where no size says how much there is."""

_NOTE = "fewer than the {} of the source, so that a launch takes milliseconds"
_FOLLOWS = "{} in the source, and as many less as there are fewer blocks"


def fewer_blocks(proposal: Proposal, factor: float) -> Proposal:
    """With a grid of which some dimensions are always the same cut down on the host, a little more
    in held-out cases where nothing else differs. On a GPU it stays what it is."""
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
    """With buffers that have as many items as there are threads, or blocks, by how many of these
    there are, where the source has only numbers. There is as much of all as before."""
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
    """A buffer by how many blocks there are; as it is, where it has nothing to do with them.

    Args:
        named: what has names for these numbers.
        own: sizes that nothing but buffers follows.
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
    """So many items for each block; None where that is no whole number.

    Of one for each thread, the last block may have more than there are.
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
    """Sizes that are the same in all cases on the host, and that nothing but buffers follows."""
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
    """How many blocks there are along a dimension that no size has a say in."""
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
    """With so many blocks along a dimension, by their name."""
    grid = list(proposal.launching.grid)
    if blocks.name not in _WORD.findall(grid[axis]):
        grid[axis] = blocks.name
    others = tuple(one for one in proposal.extents if one.name != blocks.name)
    launching = replace(proposal.launching, grid=tuple(grid))
    return replace(proposal, launching=launching, extents=(*others, blocks))


def _sized(proposal: Proposal) -> set[str]:
    """Names of all that follows how much data there is."""
    sized = {extent.name for extent in proposal.extents}
    for _ in proposal.scalars:
        sized |= {
            one.name
            for one in proposal.scalars
            if one.computed and sized & set(_WORD.findall(one.computed))
        }
    return sized


def _fixed(text: str, known: dict[str, int], extents: set[str]) -> int | None:
    """What a dimension comes to that no size has a say in."""
    try:
        expression = parse(text)
        return None if expression.names & extents else expression.evaluate(known)
    except ExpressionError:
        return None
