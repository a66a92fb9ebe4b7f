"""Results of a search so far, used to judge and order later measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gi_cuda.backends.protocol.requests import Refused
from gi_cuda.backends.workers.pool import Lost
from gi_cuda.evaluate.batches.experience.crash_risk import CrashRisk
from gi_cuda.evaluate.batches.experience.fatal_edits import FatalEdits
from gi_cuda.evaluate.batches.experience.likely_right import LikelyRight
from gi_cuda.evaluate.batches.passes import Record
from gi_cuda.evaluate.batches.scheduler import Answer, Answered
from gi_cuda.genome import Edit
from gi_cuda.results.evaluation import Evaluation, Judge, lost, measured
from gi_cuda.results.measurement import Measurement, Survival
from gi_cuda.results.verdict import needs_confirmation, verdict_of_confirmation, verdict_on_pairs


@dataclass(slots=True)
class PastResults:
    """Earlier results that help with later measurements.

    Attributes:
        codes: individual and record by machine code, from all measurements.
        rehearsed: individual and record by machine code, from all rehearsals.
        fatal_edits: edits that made workers crash or hang.
        risk: estimate of the risk of running on the sibling cases.
        likely: predictor of right variants.
    """

    codes: dict[bytes, Record] = field(default_factory=dict)
    rehearsed: dict[bytes, Record] = field(default_factory=dict)
    fatal_edits: FatalEdits = field(default_factory=FatalEdits)
    risk: CrashRisk = field(default_factory=CrashRisk)
    likely: LikelyRight = field(default_factory=LikelyRight)

    def judged(self, result: Answered, edits: Sequence[Edit], floor: float) -> Evaluation | None:
        """Return the evaluation that follows from a result; None if it has to be repeated in a new
        worker.

        A worker's death need not be repeated if one of the edits is known to be fatal.
        """
        judge = verdict_of_confirmation if result.confirmed else verdict_on_pairs
        evaluation = _evaluation(result.answer, floor, judge)
        elsewhere = isinstance(result.answer, Measurement) and result.answer.elsewhere
        doubtful = not result.confirmed and needs_confirmation(
            evaluation.verdict, evaluation.high, floor, elsewhere=elsewhere
        )
        died = result.elsewhere and result.own and evaluation.harmful
        if not result.confirmed and not doubtful and (elsewhere or died):
            self.risk.looked()  # confirmations are counted when they are scheduled
        if died:
            self.risk.died()
        if not isinstance(result.answer, Lost):
            return None if doubtful else evaluation
        if result.own:
            self.fatal_edits.enter(result.ident, edits)
        if result.final:
            return evaluation
        precedent = self.fatal_edits.of(edits)
        if precedent is None:
            return None
        said = f"as individual {precedent} by a like edit: {evaluation.message}"
        return replace(evaluation, message=said)


def _evaluation(answer: Answer, floor: float, judge: Judge) -> Evaluation:
    match answer:
        case Lost(survival, message):
            return lost(survival, message)
        case Refused(message):
            return lost(Survival.REFUSED, message)
    return measured(answer, floor, judge)
