"""Fixes for each kind of trouble with a proposal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gi_cuda.init import Proposal, Step
from gi_cuda.trial.mending.changes import Mend
from gi_cuda.trial.mending.contents import (
    alive,
    in_their_roles,
    measured,
    nearer,
    telling,
    varied,
)
from gi_cuda.trial.mending.growing import larger
from gi_cuda.trial.mending.resizing import faster, longer
from gi_cuda.trial.troubles import (
    Alike,
    Beside,
    Blind,
    Brief,
    Died,
    Idle,
    Impossible,
    LeftOut,
    Roles,
    Slow,
    Tiny,
    Trouble,
)


def mends(proposal: Proposal, trouble: Trouble) -> Iterator[Mend]:
    """Yield changed proposals to try next, the most promising first."""
    match trouble:
        case Impossible():
            yield from faster(proposal, Slow("", 0.0, over=True))
        case Beside():
            yield from larger(proposal, trouble)
            yield from nearer(proposal)
        case Slow():
            yield from faster(proposal, trouble)
        case Died():
            yield from alive(proposal, trouble)
        case LeftOut(message):
            yield Mend(replace(proposal, left_out=message), "masks taken as devices do")
        case Roles():
            yield from in_their_roles(proposal, trouble)
        case Brief():
            yield from longer(proposal, trouble)
            if trouble.alike:
                yield from varied(proposal)
        case Blind(sizes):
            if sizes:
                yield _finer(proposal, sizes)
            yield from telling(proposal)
        case Alike():
            yield from varied(proposal)
        case Tiny(sizes):
            yield _finer(proposal, sizes)
        case Idle(names):
            yield Mend(without(proposal, names), f"{', '.join(sorted(names))} fixed")


def _finer(proposal: Proposal, sizes: Mapping[str, float]) -> Mend:
    return Mend(measured(proposal, sizes), f"smaller tolerance for {', '.join(sorted(sizes))}")


def without(proposal: Proposal, parameters: frozenset[str]) -> Proposal:
    """Turn some parameters of a proposal into fixed numbers, offered as comments.

    A launch that uses them gets a comment with its original expressions.
    """
    values = {p.name: str(p.default) for p in proposal.parameters if p.name in parameters}

    def fixed(text: str) -> str:
        return re.sub(r"[A-Za-z_]\w*", lambda m: values.get(m[0], m[0]), text)

    def numbered(step: Step) -> Step:
        own, kernel = step.launching.rewritten(fixed), fixed(step.kernel)
        if (kernel, own) == (step.kernel, step.launching):
            return step
        named = f'kernel = "{step.kernel}", {step.launching.shown}'
        return replace(step, kernel=kernel, launching=replace(own, named=named))

    first, *further = map(numbered, proposal.steps)
    return replace(
        proposal,
        parameters=tuple(
            replace(p, active=p.active and p.name not in parameters) for p in proposal.parameters
        ),
        scalars=tuple(
            replace(s, computed=None if s.computed is None else fixed(s.computed))
            for s in proposal.scalars
        ),
        kernel=first.kernel,
        instances=tuple(map(fixed, proposal.instances)),
        launching=first.launching,
        further=tuple(further),
    )
