"""Check that the reference's outputs equal those known to the data module, e.g. of an
application.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gi_cuda.backends.protocol.requests import AnswersCompared, CompareAnswers, Compared
from gi_cuda.backends.workers.pool import Lost, Pool
from gi_cuda.errors import UserError
from gi_cuda.evaluate.checks.finding import Finding
from gi_cuda.spec import Target
from gi_cuda.spec.toml_file.load import data_file
from gi_cuda.subject import Subject


def compare_answers(subject: Subject, pool: Pool[int]) -> Mapping[str, Compared]:
    """Return the comparison of the reference's outputs with known outputs, by case.

    Empty if no outputs are known.

    Raises:
        UserError: the data module fails.
    """
    answer = pool.ask(CompareAnswers(subject.all_cases))
    if isinstance(answer, AnswersCompared):
        return answer.compared
    said = answer.message if isinstance(answer, Lost) else "it gave no answer"
    raise UserError(
        f"its answers could not be compared with the reference's: {said}",
        where=str(data_file(subject.target)),
        hint="answers(**args) returns an array for each judged buffer: mend it, or take it out",
    )


def other_answers(target: Target, compared: Mapping[str, Compared]) -> Iterator[Finding]:
    """Yield a finding for each case on which the reference's outputs differ from the known ones."""
    for name, one in compared.items():
        if one.wrong:
            yield Finding(
                str(data_file(target)),
                f"on case {name} the reference's answers are not those that are known: {one.wrong}",
                "is this the source that they come from, with the same macros and compiler options"
                " ([build])? Where they differ from run to run, let [oracle] allow for it",
            )
