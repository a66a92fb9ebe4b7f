"""Does the reference read locals that it never set? Then chance decides about its answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.protocol.requests import Measure, Refused, Sampling
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler
from gi_cuda.backends.workers.pool import Lost, Pool
from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.evaluate.checks.finding import Finding
from gi_cuda.spec import CaseRole
from gi_cuda.subject import Subject


def unset_locals(
    subject: Subject, compiler: Compiler, pool: Pool[int], folder: Path, limit: float
) -> Iterator[Finding]:
    """What becomes of the reference's answers where locals that nothing sets hold something else
    than when these were recorded.

    Args:
        folder: for the binary.
        limit: seconds after which a launch counts as hung.
    """
    other, source = compiler.other_locals(), unmodified(subject)
    if other is None:
        return
    built = build_batch(other, [source.variant(0)], folder)[0]
    if isinstance(built, BuildFailure):
        return
    cases = (*subject.cases(CaseRole.TRAIN), *subject.cases(CaseRole.HELD_OUT))
    program = source.program(built, cases)
    answer = pool.one(Measure(program, program, Sampling(limit=limit).untimed()))
    if isinstance(answer, Refused) or (not isinstance(answer, Lost) and answer.correct):
        return
    yield Finding(
        str(subject.target.source),
        "the reference reads locals that it never sets: its answers depend on what happens to be"
        f" there ({answer.message})",
        "set them where they are declared; g++ -O2 -Wall says which, where it can tell",
    )
