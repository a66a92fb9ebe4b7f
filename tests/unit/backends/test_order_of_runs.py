"""Order of variants and reference in timed runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from gi_cuda.backends.protocol.device import Timed, TimedRun
from gi_cuda.backends.protocol.programs import CasePlan
from gi_cuda.backends.workers.answering.measuring import Repetition, in_order, pairs_of
from gi_cuda.backends.workers.cases.pace import Pace
from gi_cuda.backends.workers.cases.variant_runner import VariantRunner


@dataclass
class Variant:
    """Stands for a variant: its runs have its name."""

    name: str
    cases: tuple[str, ...] = field(default=("a", "b"))

    def run_to_time(self, place: int, number: int) -> TimedRun:
        return run(self.name, self.cases[place])


def run(name: str, case: str) -> TimedRun:
    return TimedRun(cast(Any, name), CasePlan(case, (), {}, {}))


def repetition(number: int, place: int, pace: Pace) -> Repetition:
    runners = cast(list[VariantRunner], [Variant("x"), Variant("y")])
    return Repetition(number, runners, run("r", "ab"[place]), place, pace)


CASES = [
    [repetition(number, 0, Pace(1, warmed=True)) for number in (0, 1)],
    [repetition(0, 1, Pace(3))],
]


def test_each_case_begins_with_runs_that_do_not_count_where_a_first_one_is_slower() -> None:
    order = "".join(f"{one.loaded}{one.plan.case}" for one in in_order(CASES))
    assert order == "xayara" + "xayara" + "rayaxa" + 3 * "xbybrb"


def test_pairs_are_of_the_runs_that_count() -> None:
    """The median where a sample is of several runs; 100 s are those of runs that do not count."""
    times = [100.0, 100, 100, 1, 2, 3, 4, 5, 6, 1, 2, 3, 1, 9, 8, 7, 4, 8]
    done = iter([Timed(seconds, True) for seconds in times])
    found = [
        [(sample.case, sample.variant, sample.reference) for sample, _ in one]
        for one in pairs_of(CASES, done)
    ]
    assert found == [
        [("a", 1, 3), ("a", 2, 3)],
        [("a", 6, 4), ("a", 5, 4)],
        [("b", 1, 8), ("b", 4, 8)],
    ]
    assert next(done, None) is None
