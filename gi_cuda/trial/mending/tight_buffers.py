"""Shrink buffers of unknown size to the part that the kernel accesses.

A proposal gives a buffer of unknown size an item for each combination of all sizes. A matrix has
one for each combination of two. With the third size as a factor, the other sizes have to be small,
or memory is allocated that no launch touches.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from gi_cuda.init import Proposal
from gi_cuda.init.kernel.access import Access
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.trial.facts import names, on_host
from gi_cuda.trial.mending.changes import with_buffer
from gi_cuda.trial.search import Attempt, Outcome, Substitutes
from gi_cuda.trial.troubles import Beside

_TRIES = 6
_MOST_COUNTS = 4
_NOTE = "as far as the kernel goes"
_WORD = re.compile(r"[A-Za-z_]\w*")

_Choices = Mapping[str, Sequence[str]]
"""Possible sizes of each buffer, the smallest first."""


def with_tight_buffers(outcome: Outcome, attempt: Attempt, until: float) -> Outcome:
    """Return an outcome whose buffers have only the combinations of sizes that they need.

    The outcome is returned unchanged if that does not pass.

    Args:
        until: time on the monotonic clock after which no further sizes are tried.
    """
    loose = _loose(outcome.proposal) if outcome.passes else ()
    if not loose:
        return outcome
    substitutes = Substitutes(outcome.proposal, attempt)
    choices: _Choices = dict.fromkeys(loose, _products(outcome.proposal))
    for _ in range(_TRIES):
        if time.monotonic() >= until:
            break
        tried = outcome.proposal
        for name, sizes in choices.items():
            tried = _sized(tried, name, sizes[0])
        trouble = substitutes.trouble(tried)
        if trouble is None:
            return replace(outcome, proposal=tried)
        if not isinstance(trouble, Beside):
            break
        further = {name: _enough(tried, trouble, name, some) for name, some in choices.items()}
        if further == choices:
            break
        choices = further
    return outcome


def _loose(proposal: Proposal) -> tuple[str, ...]:
    """Return the buffers of unknown size; none if other buffers may hold indices."""
    several = 2 <= len(proposal.counts) <= _MOST_COUNTS
    if not several or any(map(_may_lead, proposal.buffers)):
        return ()
    return tuple(one.name for one in proposal.buffers if one.elements is None)


def _may_lead(buffer: ProposedBuffer) -> bool:
    """Tell whether the contents of a buffer may be indices; counters that start at zero are not."""
    whole = not buffer.element.floating and not buffer.element.truth
    given = buffer.role in ("input", "inout") and buffer.access is not Access.ATOMIC
    return given and (whole or bool(buffer.element.fields))


def _products(proposal: Proposal) -> tuple[str, ...]:
    """Return the products of sizes, the smallest first.

    Among equal products, products of sizes that determine the grid come first.
    """
    counts, known = proposal.counts, names(proposal, on_host(proposal)[0])
    launched = set(_WORD.findall(" ".join(proposal.launching.grid)))
    some = [c for length in range(len(counts)) for c in combinations(counts, length + 1)]
    some.sort(key=lambda c: (math.prod(known[name] for name in c), not launched.issuperset(c)))
    return tuple(" * ".join(chosen) for chosen in some)


def _enough(
    proposal: Proposal, trouble: Beside, name: str, sizes: Sequence[str]
) -> tuple[str, ...]:
    """Return the sizes of a buffer that cover the accesses seen; at least the largest size."""
    buffer = next(one for one in proposal.buffers if one.name == name)
    least = {
        case: seen[name].least / buffer.element.bytes
        for case, seen in trouble.seen.items()
        if name in seen
    }

    def fits(text: str) -> bool:
        return all(
            _items(proposal, case, text) >= _items(proposal, case, sizes[0]) + more
            for case, more in least.items()
        )

    return tuple(filter(fits, sizes)) or (sizes[-1],)


def _items(proposal: Proposal, case: str, product: str) -> int:
    known = names(proposal, case)
    return math.prod(known[name] for name in product.split(" * "))


def _sized(proposal: Proposal, name: str, size: str) -> Proposal:
    """Set the size of a buffer; the product of all sizes is its default."""
    buffer = next(one for one in proposal.buffers if one.name == name)
    if size == " * ".join(proposal.counts):
        return proposal
    notes = replace(buffer.notes, size=_NOTE)
    return with_buffer(proposal, replace(buffer, elements=size, notes=notes))
