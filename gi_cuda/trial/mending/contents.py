"""Fixes of the contents and roles of buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from gi_cuda.backends.protocol.undefined import UNDEFINED
from gi_cuda.init import Proposal
from gi_cuda.init.proposing.buffers import MOST, Fill, ProposedBuffer
from gi_cuda.trial.mending.changes import Mend, resized, with_buffer, with_scalars
from gi_cuda.trial.mending.resizing import other_block
from gi_cuda.trial.troubles import Died, Roles

_ZEROS = Fill(0, 1)
_GIVEN = ("input", "inout")
_WHOLE = 128
"""Sizes that fill blocks are multiples of this."""


def in_their_roles(proposal: Proposal, trouble: Roles) -> Iterator[Mend]:
    """Turn the roles of buffers to ``inout``: inputs that are written, and outputs that are not.

    An output that the kernel did not write, or only with NaN, holds zeros before each launch.
    """
    found = proposal
    for buffer in proposal.buffers:
        if buffer.name in trouble.written and buffer.texture is None:
            note = "the kernel was seen to write it"
            found = with_buffer(found, _as(buffer, "inout", note))
        elif buffer.name in trouble.unwritten:
            note = "the kernel was not seen to write it: it holds zeros before each launch"
            found = with_buffer(found, replace(_as(buffer, "inout", note), fill=_ZEROS))
    if found != proposal:
        names = ", ".join(sorted(trouble.written | trouble.unwritten))
        yield Mend(found, f"{names} made inout")


def measured(proposal: Proposal, sizes: Mapping[str, float]) -> Proposal:
    """Set the magnitudes of the numbers that the kernel writes."""
    for buffer in proposal.buffers:
        if buffer.name in sizes:
            proposal = with_buffer(proposal, replace(buffer, magnitude=sizes[buffer.name]))
    return proposal


def _as(buffer: ProposedBuffer, role: str, note: str) -> ProposedBuffer:
    return replace(buffer, role=role, notes=replace(buffer.notes, role=note))


def nearer(proposal: Proposal) -> Iterator[Mend]:
    """Yield proposals with smaller indices."""
    others = [_small(proposal), _few_bytes(proposal), _narrow(proposal)]
    if (other := other_block(proposal)) is not None:
        others.insert(1, other)
    yield from (mend for mend in others if mend.proposal != proposal)


def alive(proposal: Proposal, trouble: Died) -> Iterator[Mend]:
    """Yield proposals with other contents and sizes, the most likely fix first."""
    if UNDEFINED in trouble.message:
        return
    if (other := other_block(proposal)) is not None:
        yield other
    kinds = [_given, _few_bytes, _narrow, _whole_sizes, _small]
    if "which is in no buffer" in trouble.message:
        kinds = [_given, _small, _few_bytes, _narrow, _whole_sizes]
    if trouble.signal is None:
        kinds = [_whole_sizes, *kinds]
    for kind in kinds:
        mend = kind(proposal)
        if mend.proposal != proposal:
            yield mend


def _filled(
    proposal: Proposal, which: Callable[[ProposedBuffer], bool], fill: Fill, note: str
) -> Proposal:
    for buffer in proposal.buffers:
        if buffer.fill is not None and (buffer.fill.rising or _is_within(buffer.fill, fill)):
            continue
        if fill.high > 2 ** (8 * buffer.element.bytes // buffer.element.parts - 1):
            continue  # out of the type's range
        if which(buffer) and buffer.fill != fill and not buffer.element.fields:
            notes = replace(buffer.notes, data=note)
            proposal = with_buffer(proposal, replace(buffer, fill=fill, notes=notes))
    return proposal


def _is_within(own: Fill, fill: Fill) -> bool:
    """Tell whether numbers are in a smaller range already."""
    return own.low == fill.low and own.high < fill.high


def _whole_numbers(buffer: ProposedBuffer) -> bool:
    whole = "int" in buffer.element.type and not buffer.element.truth
    return whole and buffer.role in _GIVEN and buffer.fill != _ZEROS


def _bytes(buffer: ProposedBuffer) -> bool:
    return buffer.element.type == "uint8" and buffer.fill is None and _whole_numbers(buffer)


def _real_numbers(buffer: ProposedBuffer) -> bool:
    real = buffer.element.type.startswith("float")
    return real and buffer.role in _GIVEN and buffer.fill != _ZEROS


def _real_results(buffer: ProposedBuffer) -> bool:
    return buffer.role == "inout" and _real_numbers(buffer)


def _signed_results(buffer: ProposedBuffer) -> bool:
    return buffer.role == "inout" and buffer.element.type.startswith("int")


def _given(proposal: Proposal) -> Mend:
    """Make outputs ``inout``: they may be read before they are written."""
    found = proposal
    for buffer in proposal.buffers:
        if buffer.role == "output":
            note = "perhaps read before it is written: it holds zeros before each launch"
            found = with_buffer(found, replace(_as(buffer, "inout", note), fill=_ZEROS))
    return Mend(found, "outputs that hold zeros before each launch")


def _few_bytes(proposal: Proposal) -> Mend:
    """Limit random bytes: they may index a table with an entry for each letter or percentage."""
    note = f"below {MOST}, as they may be indices"
    return Mend(_filled(proposal, _bytes, Fill(0, MOST), note), f"bytes below {MOST}")


def _narrow(proposal: Proposal) -> Mend:
    note = "small, as they may be indices"
    return Mend(_filled(proposal, _whole_numbers, Fill(0, 2), note), "whole numbers of 0 and 1")


def _whole_sizes(proposal: Proposal) -> Mend:
    note = "a multiple of what blocks are made of"
    return Mend(
        resized(proposal, lambda _, n: max(_WHOLE, n // _WHOLE * _WHOLE), note),
        "sizes that are whole blocks",
    )


def _small(proposal: Proposal) -> Mend:
    note = "smaller than at first, as launches failed"
    return Mend(resized(proposal, lambda _, n: max(min(16, n), n // 8), note), "smaller sizes")


def telling(proposal: Proposal) -> Iterator[Mend]:
    """Yield proposals with data that is more likely to change the outputs."""
    real = "wide, as nothing showed in the outputs before"
    found = _filled(proposal, _real_numbers, Fill(-100, 100), real)
    found = _filled(found, _whole_numbers, Fill(1, 1000), real)
    if found != proposal:
        yield Mend(found, "data from a wider range")
    found = _filled(proposal, _real_results, _ZEROS, "zeros, beside which small changes show")
    if found != proposal:
        yield Mend(found, "results that begin at zero")
    tried = with_scalars(proposal, lambda s: max(int(s.value), 16), real)
    if tried != proposal:
        yield Mend(tried, "larger scalars")
    few = "of few values, so that some are what the kernel looks for"
    found = _filled(proposal, _signed_results, Fill(-1, 2), few)
    found = with_scalars(found, lambda s: min(int(s.value), 1), few)
    if found != proposal:
        yield Mend(found, "numbers of few values")


def varied(proposal: Proposal) -> Iterator[Mend]:
    """Yield proposals with data and scalars for which results may differ between items."""
    note = "on both sides of zero, as all answers were one value before"
    found = _filled(proposal, _real_numbers, Fill(-1, 1), note)
    if found != proposal:
        yield Mend(found, "real numbers from -1 to 1")
    yield from telling(proposal)
