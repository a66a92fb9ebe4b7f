"""Vary scalars between cases.

A variant may treat a value that is equal in all cases as a constant: if ``a`` is 1 in the host
code, ``a * x + y`` needs no product. Scalars that determine neither sizes nor the launch therefore
differ a little from case to case, if that passes.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from gi_cuda.init import Proposal
from gi_cuda.init.proposing.members import ProposedScalar
from gi_cuda.trial.mending.changes import whole
from gi_cuda.trial.search import Attempt, Outcome, Substitutes

_WORD = re.compile(r"[A-Za-z_]\w*")
_COUNTING = 4
"""Whole floating-point values in host code from this one on may be counts."""


def with_varied_scalars(outcome: Outcome, attempt: Attempt) -> Outcome:
    """Return an outcome with scalars that vary, if that passes: all that may, else real ones."""
    if not outcome.passes:
        return outcome
    proposal = outcome.proposal
    real = [one.name for one in proposal.scalars if _is_free(proposal, one) and _is_real(one)]
    every = [one.name for one in proposal.scalars if _is_free(proposal, one)]
    substitutes = Substitutes(proposal, attempt)
    for names in dict.fromkeys((tuple(every), tuple(real))):
        if not names:
            break
        tried = _varied(proposal, names)
        if substitutes.trouble(tried) is None:
            return replace(outcome, proposal=tried)
    return outcome


def _varied(proposal: Proposal, names: Collection[str]) -> Proposal:
    scalars = (replace(one, varied=one.name in names) for one in proposal.scalars)
    return replace(proposal, scalars=tuple(scalars))


def _is_free(proposal: Proposal, one: ProposedScalar) -> bool:
    """Tell whether a scalar affects the kernel alone and may change a little."""
    if one.computed is not None or one.count > 1 or one.name in _named(proposal):
        return False
    if _is_real(one):
        return one.value != 0 and not (one.source and _may_count(one.value))
    return whole(one, proposal) and not one.source


def _is_real(one: ProposedScalar) -> bool:
    return one.element.floating and one.element.parts == 1


def _may_count(value: float) -> bool:
    return abs(value) >= _COUNTING and float(value).is_integer()


def _named(proposal: Proposal) -> frozenset[str]:
    """Return the names that sizes and launches use."""
    texts = [one.computed for one in proposal.scalars if one.computed is not None]
    for step in proposal.steps:
        texts += [*step.launching.grid, *step.launching.block, step.launching.shared]
    for one in proposal.buffers:
        texts.append(one.items(proposal.counts))
        texts += [] if one.image is None else [*one.image.size, one.image.layers or ""]
    return frozenset(word for text in texts for word in _WORD.findall(text))
