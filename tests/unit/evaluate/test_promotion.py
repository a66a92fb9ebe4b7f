"""Times at which variants are built after they passed their rehearsal."""

from __future__ import annotations

from dataclasses import dataclass

from gi_cuda.evaluate.batches.promotion import LONGEST, WORTH_BUILDING, Promotion


@dataclass
class Sixteen:
    """Compilers, of which so many have nothing to do."""

    idle: int = 0
    disturbs: bool = False
    jobs: int = 16


def waiting(compilers: Sixteen, right: int, rehearsed: int = 0) -> Promotion:
    made = Promotion(compilers, list(range(right)))
    for _ in range(rehearsed):
        made.rehearsed()
    return made


def is_due(one: Promotion) -> bool:
    return bool(one.due(256, 0, now=False))


def test_they_wait_for_company_while_compilers_are_busy() -> None:
    enough = int(WORTH_BUILDING * 16)
    assert not is_due(waiting(Sixteen(), enough - 1))
    assert is_due(waiting(Sixteen(), enough))
    assert not is_due(waiting(Sixteen(idle=8), 3))
    assert is_due(waiting(Sixteen(idle=8), 4))
    begun = 15
    assert not waiting(Sixteen(idle=8), 4).due(256, begun, now=False), "they will be busy soon"


def test_they_wait_no_longer_than_so_many_rehearsals_take() -> None:
    longest = int(LONGEST * 16)
    assert not is_due(waiting(Sixteen(), 1, longest - 1))
    some = waiting(Sixteen(), 1, longest)
    assert is_due(some)
    some.right.append(5)
    assert not is_due(some), "it is counted anew"


def test_what_disturbs_what_is_timed_is_done_at_once_for_all() -> None:
    disturbing = Sixteen(idle=16, disturbs=True)
    assert not is_due(waiting(disturbing, 255, 1000))
    assert is_due(waiting(disturbing, 256))


def test_the_last_ones_wait_for_nobody() -> None:
    assert waiting(Sixteen(), 2).due(256, 0, now=True) == [0, 1]
