"""Verify variants in confined code together."""

from __future__ import annotations

from gi_cuda.backends.protocol.requests import Refused, Rehearse
from gi_cuda.backends.workers.answering.verifying import Verifier
from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.results.measurement import Measurement


def rehearse(case_runner: CaseRunner, request: Rehearse) -> tuple[Measurement | Refused, ...]:
    """Verify several variants in confined code."""
    verifier = Verifier(case_runner, request.sampling, harmless=True)
    try:
        verifier.enter(request.variants)
        verifier.right()
        return verifier.answers()
    finally:
        verifier.leave()
