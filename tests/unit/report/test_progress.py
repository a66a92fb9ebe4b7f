"""Progress of a command on standard error or a terminal, beside its output."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from gi_cuda.report.progress import Score, Steps, display
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.measurement import Survival
from gi_cuda.results.verdict import Verdict
from gi_cuda.search.loop import Progress


def test_without_a_terminal_steps_are_lines_on_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = io.StringIO()
    with Steps(Console(file=said, width=80)) as tell:
        tell("first [1/2]")
        tell("second")
    assert capsys.readouterr().err == "first [1/2]\nsecond\n"
    assert said.getvalue() == ""


def test_on_a_terminal_the_step_is_in_one_moving_line(capsys: pytest.CaptureFixture[str]) -> None:
    said = io.StringIO()
    with Steps(Console(file=said, width=80, force_terminal=True)) as tell:
        tell("first")
    assert "first" in said.getvalue()
    assert capsys.readouterr().err == ""


def told(*steps: tuple[float, float, float], deadline: float | None = None) -> list[Score]:
    """Return the score of a search of one generation after each individual.

    Args:
        steps: ratio, low and high of each individual.
    """
    score, found = Score(generations=1, deadline=deadline), []
    for ident, (ratio, low, high) in enumerate(steps, 1):
        one = Evaluation(True, Survival.NORMAL, 0.0, Verdict.FASTER, ratio, low, high)
        score.take(Progress(0, ident, len(steps), one))
        found.append(replace(score))
    return found


def test_the_best_so_far_is_what_is_sure_and_never_falls() -> None:
    lucky, sure, less = (0.5, 0.4, 0.9), (0.8, 0.79, 0.81), (0.82, 0.81, 0.83)
    first, second, third = (one.best_line for one in told(lucky, sure, less))
    assert first == "at least 1.111 (measured 2.000, individual 1)"
    assert second == "at least 1.235 (measured 1.250, individual 2)"
    assert third == second


def test_generations_that_overlap_are_told_as_they_end(capsys: pytest.CaptureFixture[str]) -> None:
    score = Score(generations=2, deadline=None)
    one = Evaluation(True, Survival.NORMAL, 0.0, Verdict.SAME, 1.0, 0.99, 1.01)
    steps = [Progress(0, None, 3), Progress(0, 1, 3, one), Progress(1, None, 2)]
    steps += [Progress(number, ident, 3 - number, one) for number, ident in ((0, 3), (1, 5))]
    first = [(score.generation, score.done) for step in steps if not score.take(step)]
    assert first == [(0, 0), (0, 1), (0, 1), (0, 2), (0, 2)]
    with display(Console(width=200)) as shown:
        for number, ident in ((1, 4), (0, 2)):
            score.take(Progress(number, ident, 3 - number, one))
            shown.show(score)
    said = [line for line in capsys.readouterr().out.splitlines() if "evaluated" in line]
    assert [line[:12] for line in said] == ["generation 1", "generation 0"]
    assert score.share == 1


@pytest.mark.parametrize("deadline", [None, 1e6])
def test_an_estimate_is_told_once_and_early(
    deadline: float | None, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = told(*[(1.0, 0.9, 1.1)] * 120, deadline=deadline)
    assert not scores[0].has_pace
    with display(Console(width=200)) as shown:
        for score in scores:
            shown.show(score)
    early, last = capsys.readouterr().out.splitlines()
    assert "individuals/s: time left about " in early
    assert last.startswith("generation 0: 120 evaluated")
