"""Sizes for a GPU, tried on the host as well."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from gi_cuda.init import Proposal
from gi_cuda.results.measurement import Survival
from gi_cuda.trial import Outcome
from gi_cuda.trial.facts import LARGE_CASES, names, plan
from gi_cuda.trial.large import MOST_TRIES, with_large_cases
from gi_cuda.trial.troubles import Beside, Brief, Died, Slow, Trouble
from tests.unit.trial.proposals import A, B, Beyond, Changes, N, buffer, changes, proposal, size

ENDED, LONG = Slow("large", 2.0, over=True), Slow("large", 0.9, over=False)
DIED = Died("large", Survival.CRASHED, 11, "")
GRID = {"grid": ("(rows + 127) / 128",)}

ANSWERS: dict[str, tuple[Proposal, list[Trouble | None], Changes]] = {
    "it runs": (proposal(N, A, B), [None], {}),
    "32 times less of what does not end": (
        proposal(N, A, B),
        [ENDED, None],
        {"n": (10007, 7777, 1 << 15)},
    ),
    "8 times less of what takes long": (
        proposal(N, A, B),
        [LONG, None],
        {"n": (10007, 7777, 1 << 17)},
    ),
    "8 times less where it dies": (
        proposal(N, A, B),
        [DIED, None],
        {"n": (10007, 7777, 1 << 17)},
    ),
    "as on the host where nothing larger runs": (
        proposal(size("n", 16, 32, 1 << 24), A, B),
        [DIED] * MOST_TRIES,
        {"n": (16, 32, 16)},
    ),
    "or where there is nothing between": (
        proposal(N, A, B),
        [DIED] * 3,
        {"n": (10007, 7777, 10007)},
    ),
    "half of the way to the host's where 8 times less is less than that": (
        proposal(size("n", 10007, 7777, 1 << 16), A, B),
        [DIED, None],
        {"n": (10007, 7777, 1 << 14)},
    ),
    "more where it takes no time": (
        proposal(N, A, B),
        [Brief(0.04), None],
        {"n": (10007, 7777, 1 << 23)},
    ),
    "as much as before where more does not run": (proposal(N, A, B), [Brief(0.04), ENDED], {}),
    "a size that has its most stays": (
        proposal(size("n", 10007, 7777, 1 << 20, most=1 << 20), A, B),
        [Brief(0.04)],
        {},
    ),
    "what decides how many blocks there are gets less at last": (
        proposal(size("rows", 121, 75, 1024), size("columns", 90, 102, 1024), A, B, **GRID),
        [LONG, None],
        {"columns": (90, 102, 128)},
    ),
    "four times the host's where a GPU would have less": (
        proposal(size("n", 200140, 155540, 1 << 17), A, B),
        [None],
        {"n": (200140, 155540, 4 * 200140)},
    ),
    "what is the same in all cases stays": (
        proposal(size("n", 64, 64, 64), A, B),
        [],
        {},
    ),
    "no more to judge than an oracle looks at soon": (
        proposal(N, A, buffer("b", "output", elements="n * 64")),
        [None],
        {"n": (10007, 7777, 1 << 18)},
    ),
    "no more data than memory for the square of a size": (
        proposal(size("n", 601, 449, 1 << 20), A, buffer("b", "output", elements="n * n")),
        [None],
        {"n": (601, 449, 4096)},
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_gpu_gets_as_much_as_runs(name: str) -> None:
    before, answers, expected = ANSWERS[name]
    waiting = iter(answers)
    found = with_large_cases(
        Outcome(before, None), lambda *_: None, lambda _: next(waiting), math.inf
    )
    assert changes(before, found.proposal) == expected
    assert next(waiting, "all were asked for") == "all were asked for"


def going(needed: Callable[[int], int]) -> Callable[[Proposal], Trouble | None]:
    """Return the trouble with cases for a GPU of a kernel that writes so many elements of ``b``.

    Args:
        needed: how many, by ``n``.
    """

    def large(tried: Proposal) -> Trouble | None:
        seen = {}
        for case in LARGE_CASES:
            more = needed(names(tried, case)["n"]) - plan(tried, case).items["b"]
            seen[case] = {"b": Beyond(0, 4 * more, 4 * more)} if more > 0 else {}
        return Beside(seen) if any(seen.values()) else None

    return large


def test_a_buffer_for_all_threads_grows_to_one_for_all_elements() -> None:
    threads = 3 * 128 * 128
    before = proposal(N, A, buffer("b", "output", elements=str(threads)), grid=("128",))
    large = going(lambda n: max(threads, 3 * n))
    found = with_large_cases(Outcome(before, None), lambda *_: None, large, math.inf)
    assert changes(before, found.proposal) == {
        "b.elements": str(3 << 20),
        "b.grown": str(threads),
    }


def test_sizes_get_less_where_the_host_does_not_run_with_larger_buffers() -> None:
    before = proposal(N, A, buffer("b", "output", elements="n"))
    large = going(lambda n: n + 1 if n > 1 << 17 else n)
    found = with_large_cases(Outcome(before, None), lambda *_: DIED, large, math.inf)
    assert changes(before, found.proposal) == {"n": (10007, 7777, 1 << 17)}


def test_what_fails_or_has_no_time_is_not_tried() -> None:
    before = proposal(N, A, B)

    def asked(tried: Proposal) -> Trouble | None:
        raise AssertionError("it was tried")

    for outcome, until in ((Outcome(before, DIED), math.inf), (Outcome(before, None), 0.0)):
        assert with_large_cases(outcome, lambda *_: None, asked, until) == outcome


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        (LONG, "smaller than at first, so that it fits and does not take long"),
        (Brief(0.04), "larger than at first, so that a launch takes long enough to be timed well"),
    ],
)
def test_the_reason_for_another_size_stands_beside_it(answer: Trouble, note: str) -> None:
    answers = iter([answer, None])
    outcome = Outcome(proposal(N, A, B), None)
    found = with_large_cases(outcome, lambda *_: None, lambda _: next(answers), math.inf)
    assert found.proposal.extents[0].device_note == note
