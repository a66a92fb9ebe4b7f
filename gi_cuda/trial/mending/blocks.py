"""Enlarge cases that have a single block.

With one block, code that uses the block index has no effect, so no case would detect variants
that break it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import replace

from gi_cuda.init import Proposal
from gi_cuda.init.kernel.sizes import Extent
from gi_cuda.spec.expression import ExpressionError
from gi_cuda.trial.facts import is_handy, on_host, plan
from gi_cuda.trial.search import Attempt, Outcome
from gi_cuda.trial.troubles import Bearable

PATIENCE = 0.05
"""Seconds that a case with several blocks may take."""

_DOUBLINGS = 12
_LEAST, _LEAST_IF_SLOW = 16, 4
"""Smallest sizes to which others are reduced: kernels process rows in steps of 8 or 16 items."""

_ON_DEVICE = 32
"""Smallest ratio of GPU and host sizes, for sizes that determine the number of blocks."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_NOTE = "so that there are several blocks"


def with_several_blocks(outcome: Outcome, attempt: Attempt) -> Outcome:
    """Return an outcome with sizes that give each case more than one block, if that passes too."""
    proposal = several_blocks(outcome.proposal) if outcome.passes else None
    if proposal is None or not isinstance(attempt(proposal, PATIENCE), Bearable | None):
        return outcome
    return replace(outcome, proposal=proposal, done=(*outcome.done, "several blocks"))


def several_blocks(proposal: Proposal) -> Proposal | None:
    """Return a proposal with sizes for several blocks.

    None if there are several already, or if the number of blocks does not depend on sizes.
    """
    if _fewest(proposal) > 1:
        return None
    deciding = set(_WORD.findall(" ".join(proposal.launching.grid)))
    names = {one.name for one in proposal.extents} & deciding
    for doublings in range(1, _DOUBLINGS + 1) if names else ():
        tried = _enlarged(proposal, names, 2**doublings)
        if _fewest(tried) > 1:
            return tried if is_handy(tried) else _lessened(tried, names, _LEAST_IF_SLOW)
    return None


def _fewest(proposal: Proposal) -> int:
    """Return the number of blocks in the case with fewest blocks."""
    try:
        return min(math.prod(plan(proposal, case).grid) for case in on_host(proposal))
    except ExpressionError:
        return 0


def _enlarged(proposal: Proposal, names: Collection[str], times: int) -> Proposal:
    """Multiply some sizes by `times`, and shrink the others by as much in all."""

    def changed(one: Extent) -> Extent:
        if one.name not in names or one.most:
            return one
        train, held_out = times * one.train, times * one.held_out
        device = one.device if one.blocks else max(one.device, _ON_DEVICE * train)
        return replace(one, train=train, held_out=held_out, device=device, note=_NOTE)

    found = replace(proposal, extents=tuple(map(changed, proposal.extents)))
    for _ in range(int(math.log2(times))):
        found = _lessened(found, names, _LEAST) or found
    return found


def _lessened(proposal: Proposal, names: Collection[str], least: int) -> Proposal | None:
    """Halve the largest other size; None if it would be too small."""
    others = [one for one in proposal.extents if one.name not in names and not one.blocks]
    largest = max(others, key=lambda one: one.train, default=None)
    if largest is None or min(largest.train, largest.held_out) // 2 < least:
        return None
    less = replace(largest, train=largest.train // 2, held_out=largest.held_out // 2, note=_NOTE)
    extents = tuple(less if one is largest else one for one in proposal.extents)
    return replace(proposal, extents=extents)
