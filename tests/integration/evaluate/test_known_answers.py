"""Known answers of a data module are compared with the reference's when these are recorded."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.backends.protocol.requests import AnswersCompared, CompareAnswers, Compared
from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.evaluate.reference.baseline import compile_reference, record_reference
from gi_cuda.runs.tools import open_tools
from gi_cuda.subject import load_subject

BICG = Path(__file__).parents[3] / "targets" / "tuning" / "bicg"


def test_cases_of_another_back_end_are_not_asked_for(tmp_path: Path) -> None:
    """A worker for a GPU also has small cases for the host, without recorded answers."""
    subject = load_subject(BICG, "host")
    with open_tools(subject, tmp_path, workers=1, jobs=1) as tools:
        place = tools.scratch("reference")
        (binary,) = compile_reference(subject, tools.compiler, [subject.reference], place)
        program = unmodified(subject).program(binary, ["odd"])
        record_reference(subject, tools.pool, program, tools.reference)
        assert "wide" in tools.session.cases
        found = tools.pool.ask(CompareAnswers(("odd",)))
    assert isinstance(found, AnswersCompared)
    assert found.compared.keys() == {"odd"}
    assert isinstance(found.compared["odd"], Compared)
    assert not found.compared["odd"].wrong
