"""Number of launches if a program's device variables keep their values."""

from __future__ import annotations

from gi_cuda.backends.workers.answering.keeping import launch_count


def test_small_answers_are_asked_for_as_often_as_wanted() -> None:
    assert launch_count(12, 0) == launch_count(12, 2**20) == 12


def test_answers_of_gigabytes_are_kept_of_three_launches() -> None:
    assert launch_count(12, 2**28) == 4
    assert launch_count(12, 2**33) == 3


def test_never_more_launches_than_wanted() -> None:
    assert launch_count(2, 2**33) == 2
