"""Is a variant right on other random data as well?

Where answers are yes or no, or of few values, or hold for most data anyway, a variant that computes
something else may be right on all cases of a target by chance. What is to be certified runs on
these cases once more, with other seeds, and nothing of it is timed. Where the reference writes one
value everywhere, whatever the seed, nothing tells what is right, and nothing is certified.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

from gi_cuda.backends.protocol.requests import Measure, Record, Recorded, Refused, Sampling
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.protocol.variants import BuildFailure, Compiler
from gi_cuda.backends.workers.pool import Lost, Pool
from gi_cuda.evaluate.candidates import Candidate, build_candidates, unmodified
from gi_cuda.evaluate.replicates import why_wrong
from gi_cuda.results.measurement import Measurement
from gi_cuda.spec.cases import reseeded
from gi_cuda.subject import Subject

SEEDS: Final = 8
"""Other seeds for each case: with so many, what is wrong for one in five is seen."""

LIMIT: Final = 10.0
"""Seconds after which a launch counts as hung."""

_ALWAYS: Final = (
    "the reference writes one value everywhere, on all cases and with other random numbers in its"
    " inputs as well: whatever writes that is right. Give it data in data.py for which its answers"
    " differ"
)


@dataclass(frozen=True)
class OtherData:
    """Runs candidates on the cases of a subject with other seeds.

    Attributes:
        compiler: the back end's.
        session: that of the workers.
        folder: for binaries, and the reference's answers.
        alone: opens a worker of a session.
    """

    subject: Subject
    compiler: Compiler
    session: Session
    folder: Path
    alone: Callable[[Session], AbstractContextManager[Pool[int]]]

    def complaint(self, one: Candidate) -> str:
        """What is wrong with a candidate; "" where nothing is, the cases have no seeds, or the
        reference itself fails with others."""
        if not self._session.cases:
            return ""
        reference, variant = build_candidates(
            self.compiler, [unmodified(self.subject), one], self.folder
        )
        if isinstance(reference, BuildFailure) or isinstance(variant, BuildFailure):
            return ""
        cases = self._session.cases
        base = unmodified(self.subject).program(reference, cases)
        with self.alone(self._session) as pool:
            runs = max(2, self.subject.target.oracle.runs)
            recorded = pool.one(Record(base, self._session.reference, runs, LIMIT))
            if not isinstance(recorded, Recorded) or any(recorded.penalties.values()):
                return ""
            if len(values := {*recorded.only.values()}) == 1 and "" not in values:
                return _ALWAYS
            asked = Measure(one.program(variant, cases), base, Sampling(limit=LIMIT).untimed())
            answer = pool.one(asked)
        assert isinstance(answer, Measurement | Lost | Refused)
        wrong = why_wrong(answer)
        return f"with other random numbers in its inputs it is {wrong}" if wrong else ""

    @cached_property
    def _session(self) -> Session:
        """The one whose workers have the cases with other seeds."""
        target = self.session.target
        others = reseeded(target, self.session.cases, SEEDS)
        return replace(
            self.session,
            target=replace(target, cases=(*target.cases, *others)),
            cases=tuple(case.name for case in others),
            reference=self.folder / "reference",
        )
