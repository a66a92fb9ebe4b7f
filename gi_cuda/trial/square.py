"""One number for all sizes that host code has alike, where a kernel goes beyond its buffers else.

A kernel for square matrices may take the length of a row for the number of rows. With other sizes
its buffers were grown to where it goes, and it leaves a part of them, or tells other numbers from
them than it was made for.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from gi_cuda.init import Proposal
from gi_cuda.init.buffers import ProposedBuffer
from gi_cuda.init.sizes import Extent
from gi_cuda.trial.large import TryLarge, with_large_cases
from gi_cuda.trial.search import PATIENCE, Attempt, Outcome
from gi_cuda.trial.troubles import Bearable

_WORD = re.compile(r"[A-Za-z_]\w*")
_NOTE = "as many as {}, as in the source: with others the kernel goes beyond its buffers"


def with_square_sizes(outcome: Outcome, attempt: Attempt, large: TryLarge, until: float) -> Outcome:
    """What passes, with the same number for all sizes that the source has alike, if no buffer has
    to be grown with that.

    Args:
        until: on the monotonic clock, when no further sizes are tried.
    """
    if not outcome.passes or not any(one.grown for one in outcome.proposal.buffers):
        return outcome
    squared = _squared(outcome.proposal)
    if squared is None or not isinstance(attempt(squared, PATIENCE), Bearable | None):
        return outcome
    tried = with_large_cases(replace(outcome, proposal=squared), attempt, large, until)
    if time.monotonic() >= until or any(one.grown for one in tried.proposal.buffers):
        return outcome
    names = [e.name for e in outcome.proposal.extents if e not in tried.proposal.extents]
    return replace(tried, done=(*outcome.done, f"one number for {', '.join(names)}"))


def _squared(proposal: Proposal) -> Proposal | None:
    """With one number for those sizes that the source has alike, and buffers as they were before
    they were grown; None where there are no such sizes."""
    known = {} if proposal.use is None else proposal.use.values
    free = [one for one in proposal.extents if one.passed and not one.blocks and one.name in known]
    alike = [[e for e in free if known[e.name] == known[f.name]] for f in free]
    group = max(alike, key=len, default=[])
    plain = all(one.image is None and not one.known for one in proposal.buffers)
    if len(group) < 2 or not plain or proposal.further:
        return None
    first, *others = [one.name for one in group]
    as_first = dict.fromkeys(others, first)

    def change(text: str) -> str:
        return _WORD.sub(lambda match: as_first.get(match[0], match[0]), text)

    sizes = {one.name: one for one in proposal.extents if one.name not in as_first}
    sizes[first] = _one_for(group)
    scalars = tuple(
        replace(one, computed=first, note=_NOTE.format(first))
        if one.name in as_first
        else replace(one, computed=None if one.computed is None else change(one.computed))
        for one in proposal.scalars
    )
    return replace(
        proposal,
        extents=tuple(sizes.values()),
        scalars=scalars,
        buffers=tuple(_as_before(one, proposal.counts, change) for one in proposal.buffers),
        launching=proposal.launching.rewritten(change),
    )


def _one_for(group: Sequence[Extent]) -> Extent:
    """A size in place of several: on a GPU such that there are about as many data."""
    mean = math.prod(one.device for one in group) ** (1 / len(group))
    train, held_out = max(one.train for one in group), max(one.held_out for one in group)
    if train == held_out:
        held_out *= 2
    return replace(
        group[0], train=train, held_out=held_out, device=max(train, 1 << round(math.log2(mean)))
    )


def _as_before(
    buffer: ProposedBuffer, counts: Sequence[str], change: Callable[[str], str]
) -> ProposedBuffer:
    elements = buffer.grown or buffer.ahead(counts)
    notes = replace(buffer.notes, size="") if buffer.grown else buffer.notes
    return replace(buffer, elements=change(elements), grown="", notes=notes)
