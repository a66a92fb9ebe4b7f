"""``gi-cuda runs``: train and held-out speed-ups in columns of their own, states of runs."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from rich.console import Console

from gi_cuda.analyze.stored.listing import Listed, Standing
from gi_cuda.report.results.runs import runs_table
from gi_cuda.report.tables import print_table
from gi_cuda.results.speed_up import SpeedUp

BEST, WINNER = SpeedUp(1.44, 1.40, 1.48), SpeedUp(1.21, 1.19, 1.23)
STANDING = Standing("t", "host", "a CPU", 2, 2, WINNER, BEST, busy=False, validated=True)


@pytest.mark.parametrize(
    ("standing", "state"),
    [
        (STANDING, "done"),
        (replace(STANDING, done=1), "stopped"),
        (replace(STANDING, busy=True, winner=None), "at work"),
        (replace(STANDING, winner=None), "done, none held on the held-out cases"),
        (replace(STANDING, winner=None, validated=False), "done, not validated"),
        (replace(STANDING, validated=False), "done, not validated"),
        (replace(STANDING, winner=None, best=None), "done"),
    ],
)
def test_the_state_says_whether_the_best_holds(standing: Standing, state: str) -> None:
    assert standing.state == state


def test_train_and_held_out_figures_have_columns_of_their_own() -> None:
    out = io.StringIO()
    runs = [Listed(Path("runs/a"), datetime(2026, 1, 1), STANDING)]
    print_table(Console(file=out, width=200), runs_table(runs))
    heading = next(line for line in out.getvalue().splitlines() if "held-out" in line)
    row = next(line for line in out.getvalue().splitlines() if "runs/a" in line)
    assert heading.index("train") <= row.index("1.44") < heading.index("held-out")
    assert heading.index("held-out") <= row.index("1.21")
