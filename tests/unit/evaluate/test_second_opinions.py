"""Choice of the next individuals to run on a processor."""

from __future__ import annotations

from typing import Any

import pytest

from gi_cuda.evaluate.second_opinion import SecondOpinion
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.measurement import Survival
from gi_cuda.results.verdict import Verdict


def right(ratio: float) -> Evaluation:
    verdict = Verdict.FASTER if ratio < 1 else Verdict.SAME
    bounds = {"ratio": ratio, "low": ratio * 0.99, "high": ratio * 1.01}
    return Evaluation(True, Survival.NORMAL, 0.0, verdict, **bounds)


@pytest.mark.parametrize(("together", "others"), [(1, 1), (2, 1), (4, 2)])
def test_half_of_those_that_look_are_for_what_is_ahead_of_all(
    monkeypatch: pytest.MonkeyPatch, together: int, others: int
) -> None:
    monkeypatch.setattr("gi_cuda.evaluate.second_opinion._together", lambda: together)
    nothing: Any = None
    second, begun = SecondOpinion(nothing, nothing, nothing), list[int]()
    threads: Any = type("Threads", (), {"submit": staticmethod(begun.append)})
    second._best, second._looks = 0.8, (nothing,)
    second._held |= {ident: (nothing, right(1.0)) for ident in range(10)}
    second._begin(threads)
    assert begun == list(range(others))
    second._held |= {ident: (nothing, right(ident / 100)) for ident in (50, 40, 60, 70)}
    second._begin(threads)
    assert begun[others:] == [40, 50, 60, 70][: together - others]
