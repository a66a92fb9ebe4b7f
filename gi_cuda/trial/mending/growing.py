"""Fixes of buffers that are too small: a kernel accesses memory outside of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from gi_cuda.backends.protocol.device import POISON
from gi_cuda.backends.protocol.requests import DYNAMIC_SHARED, Beyond
from gi_cuda.init import Proposal
from gi_cuda.init.kernel.sizes import bracketed
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.spec.expression import parse
from gi_cuda.trial.facts import is_handy, names, on_host, plan, threads
from gi_cuda.trial.mending.changes import Mend, with_buffer
from gi_cuda.trial.mending.fitting import Need, enough
from gi_cuda.trial.troubles import Beside

_WORD = 4
_PAGE = 4096
_NONE = Beyond(0, 0, 0)

_READ_BESIDE = 2**32 - POISON
_MARGINS = 2**15
"""Distances in items: poison, used as an index, leads to _READ_BESIDE items before a buffer, and
the contents of margins lead up to _MARGINS items further."""


def is_poison(items: int) -> bool:
    """Tell whether an offset before a buffer results from an index that was read out of bounds.

    Memory around buffers is filled with poison, or with poison less the number of the buffer. Used
    as
    an index, it leads to about this offset.

    Args:
        items: number of items before the buffer's begin.
    """
    return _READ_BESIDE - _PAGE <= items <= _READ_BESIDE + _MARGINS + _PAGE


class _Beside(NamedTuple):
    """Distance of out-of-bounds accesses from the buffer, in bytes: a lower and an upper bound."""

    least: int
    most: int


def larger(proposal: Proposal, trouble: Beside) -> Iterator[Mend]:
    """Yield a proposal with all buffers enlarged to where the kernel was seen to access them."""
    grown, said = proposal, []
    past = any(one.most for case in trouble.seen.values() for one in case.values())
    for buffer in proposal.buffers:
        seen = {case: one.get(buffer.name, _NONE) for case, one in trouble.seen.items()}
        if past:
            seen = {case: _but_by_poison(one, buffer) for case, one in seen.items()}
        more = _grown(proposal, buffer, seen)
        if buffer.begin != more.begin:
            said.append(f"{buffer.name} with {more.begin} in front of its begin")
        if buffer.elements != more.elements:
            said.append(f"{buffer.name} grown to {more.elements}")
        grown = with_buffer(grown, more)
    shared = {c: one[DYNAMIC_SHARED] for c, one in trouble.seen.items() if DYNAMIC_SHARED in one}
    if shared:
        grown = _with_shared(grown, shared)
        said.append(f"shared memory grown to {grown.launching.shared} bytes")
    if said and is_handy(grown):
        yield Mend(grown, ", ".join(said))


def _but_by_poison(beyond: Beyond, buffer: ProposedBuffer) -> Beyond:
    """Drop accesses before a buffer that result from an index which was read out of bounds.

    Once the index is read from a large enough buffer, they may disappear.
    """
    poison = is_poison(beyond.before // buffer.element.bytes)
    return replace(beyond, before=0) if poison else beyond


def _grown(
    proposal: Proposal, buffer: ProposedBuffer, seen: Mapping[str, Beyond]
) -> ProposedBuffer:
    if buffer.symbol or buffer.texture:
        return buffer
    size = buffer.element.bytes
    if buffer.whole and any(beyond.most for beyond in seen.values()):
        # A few blocks process all items of the source: restore the original size.
        notes = replace(buffer.notes, size="")
        buffer = replace(buffer, elements=buffer.whole, whole="", notes=notes)
    elif any(beyond.most for beyond in seen.values()):
        now = buffer.ahead(proposal.counts)
        past = {c: _Beside(one.least, one.most) for c, one in seen.items()}
        fitting = _fitting(proposal, buffer.grown or now, now, size, past)
        grown, note = buffer.grown or now, ""
        if fitting != grown:
            note = f"grown from `{grown}`: the kernel goes up to there"
        notes = replace(buffer.notes, size=note)
        buffer = replace(buffer, elements=fitting, grown=grown if note else "", notes=notes)
    if any(beyond.before for beyond in seen.values()):
        # Within the page furthest away, only the first access is known.
        before = {c: _Beside(one.before, one.before + _PAGE) for c, one in seen.items()}
        begin = _fitting(proposal, "0", buffer.begin or "0", size, before)
        buffer = replace(buffer, begin=begin)
    return buffer


def _fitting(
    proposal: Proposal, first: str, now: str, size: int, beside: Mapping[str, _Beside]
) -> str:
    """Return a size that covers accesses beyond the present one.

    Args:
        first: the original size, an expression of items.
        now: the present size.
        size: bytes of an item.
        beside: distances of the accesses, by case.
    """
    extents = {extent.name for extent in proposal.extents}
    known = {
        case: {n: v for n, v in names(proposal, case).items() if n in extents}
        for case in dict.fromkeys((*on_host(proposal), *beside))
    }
    needs = {}
    for case, (least, most) in beside.items():
        have = parse(now).evaluate(known[case])
        if least:
            seen, twice = have - (-least // size), have - (-most // size)
            if now != first:
                # The buffer was enlarged before: take the upper bound to avoid many small steps,
                # or the size that it had before it was reduced, if that is in between.
                before = int(first) if first.isdigit() else 0
                seen = before if seen <= before <= twice else twice
            needs[case] = Need(seen, twice)
        else:
            needs[case] = Need(have, max(have, 1))
    return enough(first, threads(proposal), needs, known)


def _with_shared(proposal: Proposal, seen: Mapping[str, Beyond]) -> Proposal:
    """Give each thread more dynamic shared memory."""
    launching = proposal.launching
    doubted = any("hared memory" in note for note in launching.notes)
    bytes_each = 0
    for case, beyond in seen.items():
        found = plan(proposal, case)
        count = 1
        for extent in found.block:
            count *= extent
        twice = max(beyond.least, min(beyond.most, found.shared))
        needed = found.shared + (twice if doubted else beyond.least)
        bytes_each = max(bytes_each, -(-needed // count))
    bytes_each = -(-bytes_each // _WORD) * _WORD
    each = " * ".join(bracketed(text) for text in launching.block if text != "1") or "1"
    note = "Shared memory was grown: the kernel goes up to there."
    notes = launching.notes if doubted else (*launching.notes, note)
    grown = replace(launching, shared=f"{each} * {bytes_each}", notes=notes)
    return replace(proposal, launching=grown)
