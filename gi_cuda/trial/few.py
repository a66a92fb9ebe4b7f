"""Outputs of a few items, however much data there is: sums, extremes, or one item of each block.

Where nothing says how large such a buffer is, it was thought to have as many items as there are
data. Nearly all of it is never written, and yet made, restored and compared with every launch.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace

from gi_cuda.init import Proposal
from gi_cuda.init.kernel.access import Access
from gi_cuda.init.kernel.sizes import bare, bracketed
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.trial.changes import with_buffer
from gi_cuda.trial.facts import on_host, plan
from gi_cuda.trial.search import PATIENCE, Attempt, Outcome, Substitutes
from gi_cuda.trial.tight import may_lead
from gi_cuda.trial.troubles import Bearable, Beside

_MOST = 6
"""Buffers that are looked at."""

_NOTE = "as far as the kernel goes"


def with_few_items(outcome: Outcome, attempt: Attempt, until: float) -> Outcome:
    """What passes, with outputs that are no larger than the kernel needs where it goes equally far
    in cases of different sizes, or writes one item for each block, if that passes as well.

    Args:
        until: on the monotonic clock, when no further buffers are looked at.
    """
    proposal = outcome.proposal
    names = _written(proposal) if outcome.passes and _sizes_differ(proposal) else ()
    substitutes = Substitutes(proposal, attempt)
    for name in names[:_MOST]:
        if time.monotonic() >= until:
            break
        items = _needed(proposal, name, attempt)
        if items is None:
            continue
        tried = _with_items(proposal, name, items)
        if substitutes.trouble(tried) is None:
            proposal = tried
    return replace(outcome, proposal=proposal)


def _sizes_differ(proposal: Proposal) -> bool:
    """Whether the cases tell what goes with the sizes from what does not."""
    blocks = any(one.blocks for one in proposal.extents)
    return not blocks and any(one.train != one.held_out for one in proposal.extents)


def _written(proposal: Proposal) -> tuple[str, ...]:
    """Outputs of which nothing says how large they are; none where data may say how far the kernel
    goes."""
    if any(map(may_lead, proposal.buffers)):
        return ()
    return tuple(one.name for one in proposal.buffers if one.elements is None and _is_output(one))


def _is_output(buffer: ProposedBuffer) -> bool:
    plain = buffer.symbol is None and buffer.texture is None and not buffer.begin
    return plain and (buffer.role == "output" or buffer.access is Access.ATOMIC)


def _needed(proposal: Proposal, name: str, attempt: Attempt) -> str | None:
    """How many items of a buffer the kernel uses: one number in all cases, or as many as there are
    blocks; None where it is neither, or where the kernel uses most of them."""
    trouble = attempt(_with_items(proposal, name, "1"), PATIENCE)
    if not isinstance(trouble, Beside):
        return "1" if trouble is None or isinstance(trouble, Bearable) else None
    size = next(one.element.bytes for one in proposal.buffers if one.name == name)
    plans = {case: plan(proposal, case) for case in on_host(proposal)}
    beyond = {case: trouble.seen.get(case, {}).get(name) for case in plans}
    used = {c: 1 if one is None else 1 - (-one.most // size) for c, one in beyond.items()}
    if any(used[case] > one.items[name] // 2 for case, one in plans.items()):
        return None
    if len(set(used.values())) == 1:
        return str(next(iter(used.values())))
    if all(used[case] == math.prod(one.grid) for case, one in plans.items()):
        grid = [bracketed(text) for text in proposal.launching.grid if text != "1"]
        return bare(" * ".join(grid))
    return None


def _with_items(proposal: Proposal, name: str, items: str) -> Proposal:
    buffer = next(one for one in proposal.buffers if one.name == name)
    notes = replace(buffer.notes, size=_NOTE)
    return with_buffer(proposal, replace(buffer, elements=items, notes=notes))
