"""Mends of buffers that a kernel goes beyond."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gi_cuda.backends.protocol.requests import DYNAMIC_SHARED, Beyond
from gi_cuda.init import Proposal
from gi_cuda.init.buffers import ProposedBuffer
from gi_cuda.init.sizes import bracketed
from gi_cuda.trial.changes import Mend, with_buffer
from gi_cuda.trial.facts import CASES, items, names, plan, threads
from gi_cuda.trial.fitting import Need, enough
from gi_cuda.trial.troubles import Beside

_WORD = 4


def larger(proposal: Proposal, trouble: Beside) -> Iterator[Mend]:
    """All buffers that are too small made large enough, as far as was seen."""
    grown, said = proposal, []
    for buffer in proposal.buffers:
        seen = {case: one[buffer.name] for case, one in trouble.seen.items() if buffer.name in one}
        if any(beyond.most for beyond in seen.values()):
            more = _grown(proposal, buffer, seen)
            grown = with_buffer(grown, more)
            said.append(f"{buffer.name} grown to {more.elements}")
    shared = {c: one[DYNAMIC_SHARED] for c, one in trouble.seen.items() if DYNAMIC_SHARED in one}
    if shared:
        grown = _with_shared(grown, shared)
        said.append(f"shared memory grown to {grown.launching.shared} bytes")
    if said:
        yield Mend(grown, ", ".join(said))


def _grown(
    proposal: Proposal, buffer: ProposedBuffer, seen: Mapping[str, Beyond]
) -> ProposedBuffer:
    now, size = items(proposal, buffer), buffer.element.bytes
    needs = {}
    for case, beyond in seen.items():
        have = plan(proposal, case).items[buffer.name]
        if beyond.most:
            needs[case] = Need(have - (-beyond.least // size), have - (-beyond.most // size))
    extents = {extent.name for extent in proposal.extents}
    known = {
        case: {n: v for n, v in names(proposal, case).items() if n in extents} for case in CASES
    }
    doubted = bool(buffer.notes.size)
    fitting = enough(now, threads(proposal), needs, known, doubted=doubted)
    first = buffer.notes.size.partition("`")[2].partition("`")[0] or now
    note = f"grown from `{first}`: the kernel goes up to there"
    return replace(buffer, elements=fitting, notes=replace(buffer.notes, size=note))


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
