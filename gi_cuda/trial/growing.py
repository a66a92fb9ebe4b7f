"""Mends of buffers that a kernel goes beyond."""

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
from gi_cuda.trial.changes import Mend, with_buffer
from gi_cuda.trial.facts import is_handy, names, on_host, plan, threads
from gi_cuda.trial.fitting import Need, enough
from gi_cuda.trial.troubles import Beside

_WORD = 4
_PAGE = 4096
_NONE = Beyond(0, 0, 0)

_READ_BESIDE = 2**32 - POISON
_MARGINS = 2**15
"""As an index, poison leads to so many items in front of a begin, and what margins hold to up to so
many more."""


def is_poison(items: int) -> bool:
    """Whether so many items in front of a buffer is one whose index was read past another one's
    end, or near such a one: margins hold poison less a number of the buffer's own."""
    return _READ_BESIDE - _PAGE <= items <= _READ_BESIDE + _MARGINS + _PAGE


class _Beside(NamedTuple):
    """How far beside what there is there were accesses: bytes, at least and at most."""

    least: int
    most: int


def larger(proposal: Proposal, trouble: Beside) -> Iterator[Mend]:
    """All buffers that are too small made large enough, as far as was seen."""
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
    """What was seen of a buffer without what lies in front where an index points that is none: once
    that is read from where there are some, nothing may."""
    poison = is_poison(beyond.before // buffer.element.bytes)
    return replace(beyond, before=0) if poison else beyond


def _grown(
    proposal: Proposal, buffer: ProposedBuffer, seen: Mapping[str, Beyond]
) -> ProposedBuffer:
    if buffer.symbol or buffer.texture:
        return buffer
    size = buffer.element.bytes
    if buffer.whole and any(beyond.most for beyond in seen.values()):
        # Few blocks go through all that the source has.
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
        # Of the page furthest away, only the first access is known.
        before = {c: _Beside(one.before, one.before + _PAGE) for c, one in seen.items()}
        begin = _fitting(proposal, "0", buffer.begin or "0", size, before)
        buffer = replace(buffer, begin=begin)
    return buffer


def _fitting(
    proposal: Proposal, first: str, now: str, size: int, beside: Mapping[str, _Beside]
) -> str:
    """What is enough for accesses so many bytes beside what there is.

    Args:
        first: how many items were thought to be enough.
        now: how many there are.
        size: of an item.
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
                # The second time, to go by what was seen would be to go step by step; unless it
                # is what it was before it was made smaller.
                before = int(first) if first.isdigit() else 0
                seen = before if seen <= before <= twice else twice
            needs[case] = Need(seen, twice)
        else:
            needs[case] = Need(have, max(have, 1))
    return enough(first, threads(proposal), needs, known)


def _with_shared(proposal: Proposal, seen: Mapping[str, Beyond]) -> Proposal:
    """With more dynamic shared memory for each thread."""
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
