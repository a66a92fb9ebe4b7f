"""Time of a search within the time of a command."""

from __future__ import annotations

import signal
import time

import pytest
import typer

from gi_cuda.cli.options import read_time
from gi_cuda.cli.search.allowance import OVER, Allowance, time_for
from gi_cuda.cli.search.searching import PREPARING, _stopping, preparing
from gi_cuda.errors import UserError


@pytest.mark.parametrize(
    ("seconds", "spent", "baseline", "left"),
    [
        (100, 8, 7, 57),  # five baselines to validate
        (100, 2, 7, 63),  # resumed: the baseline was made before
        (30, 9, 9, 15),  # half at least
        (30, 30, 9, 6),  # as long as all is over by no more than a fifth
        (30, 60, 60, 0),
        (0, 5, 5, 0),
    ],
)
def test_a_search_gets_what_preparing_and_validating_leave(seconds, spent, baseline, left) -> None:
    assert Allowance(seconds).for_search(spent, baseline) == left


def test_validating_on_a_gpu_gets_more_than_a_short_baseline_says() -> None:
    assert Allowance(60).for_search(3, 2, gpu=True) == 37
    assert Allowance(60).for_search(3, 5, gpu=True) == 32
    assert Allowance(30).for_search(3, 2, gpu=True) == 15


def test_a_search_that_finds_nothing_gets_what_validating_would_take() -> None:
    assert Allowance(100).without_validation(8) == 92
    assert Allowance(5).without_validation(8) == 0


def test_time_is_up_sooner_where_there_is_something_to_validate() -> None:
    with _stopping(3600, 7200) as stop:
        signal.raise_signal(signal.SIGALRM)
        assert not stop()
        stop.found = True
        signal.raise_signal(signal.SIGALRM)
        assert stop()
    with _stopping(3600, 0) as stop:
        signal.raise_signal(signal.SIGALRM)
        assert stop()


def test_without_a_limit_a_search_has_none() -> None:
    assert Allowance(None).for_search(9, 9) is None


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [
        ("90", 90),
        ("40s", 40),
        ("10m", 600),
        ("1h", 3600),
        ("1.5h", 5400),
        (" 2 m", 120),
        (7.5, 7.5),
    ],
)
def test_a_time_has_a_unit(typed: str | float, seconds: float) -> None:
    assert read_time(typed) == seconds


@pytest.mark.parametrize("typed", ["", "m", "-1", "1d", "4x", "1:30"])
def test_what_is_no_time_is_refused(typed: str) -> None:
    with pytest.raises(UserError, match="is not a time"):
        read_time(typed)


def test_a_plain_search_ends_and_one_with_generations_ends_with_these() -> None:
    assert (time_for(None, None, "host"), time_for(None, None, "cuda")) == (300, 600)
    assert time_for(None, 20, "host") is None
    assert time_for(7, 20, "host") == 7


def test_what_takes_far_longer_to_prepare_than_all_was_to_take_ends(capsys) -> None:
    allowed = Allowance(10.0, time.monotonic() - 10.0 - OVER * 10.0 - PREPARING)
    with pytest.raises(typer.Exit) as ended, preparing(allowed):
        signal.pause()
    assert ended.value.exit_code == 1
    assert "21 s were not enough to prepare it" in capsys.readouterr().out
    with preparing(Allowance(None)):
        pass
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
