"""Rounds: runs whose results stay on the device, and the report of a checked run."""

from __future__ import annotations

import itertools
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.backends.cuda.device.memory_layout.buffers import Zone
from gi_cuda.backends.cuda.device.memory_layout.memory import MemoryCheck, Region
from gi_cuda.backends.cuda.device.memory_layout.staging import MOST, Staging
from gi_cuda.backends.cuda.device.steps import Look
from gi_cuda.backends.protocol.device import TimedRun
from gi_cuda.backends.protocol.programs import CasePlan


@given(st.lists(st.integers(1, 2 * MOST), max_size=20))
def test_rounds_have_all_runs_in_order_and_no_more_than_there_is_room_for(sizes: list[int]) -> None:
    staging = Staging(None)  # type: ignore[arg-type]
    runs = [(number, [Region("out", 0, size, True)]) for number, size in enumerate(sizes)]
    rounds = list(staging.rounds(runs))
    assert [number for some in rounds for number in some] == list(range(len(sizes)))
    assert all(len(some) == 1 or sum(sizes[n] for n in some) <= MOST for some in rounds)
    for some, others in itertools.pairwise(rounds):
        whole = sum(-(-sizes[n] // 256) * 256 for n in (*some, others[0]))
        assert whole > MOST, "the next one would have had room"


def look(answers: int | None) -> Look:
    """One with so many answers, two signs and two zones."""
    checks = [MemoryCheck(at, 4) for at in range(9)]
    zones = [Zone(checks[7], "in"), Zone(checks[8], "memory behind out")]
    run = TimedRun(Path("variant"), CasePlan("train", (), {}, {}))
    return Look(run, [], None if answers is None else checks[:answers], checks[5:7], zones)


def test_a_check_that_fails_is_told_as_what_it_is_of() -> None:
    assert len(look(3).checks) == 7
    assert look(3).told([]) == ((), [], False)
    assert look(3).told([2]) == ((), [], True)
    assert look(3).told([3, 4]) == ((), [0, 1], False)
    assert look(3).told([1, 4, 6]) == (("memory behind out",), [1], True)
    assert look(0).told([2]) == (("in",), [], False)
    assert look(None).told([]) == ((), [], True), "they have not even the size"
