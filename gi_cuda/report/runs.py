"""Runs as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from gi_cuda.analyze.listing import Listed, Standing
from gi_cuda.backends.table import backend_named
from gi_cuda.report.tables import table, whole
from gi_cuda.results.speed_up import SpeedUp


def runs_table(runs: Sequence[Listed]) -> Table:
    """One row a run."""
    rows = table(
        "runs, the last one worked on below",
        *whole("run"),
        *("target", "when", "on", "gen"),
        *("train", "held-out", "state"),
        caption="gen: generations; train: speed-up of the best on the train cases; held-out: of the"
        " winner on the held-out cases, with 95 % interval",
    )
    for one in runs:
        when = f"{one.when:%Y-%m-%d %H:%M}"
        told = one.standing
        cells = _cells(told) if isinstance(told, Standing) else ["", "", "", "", "", told]
        target, *others = map(Text, cells)
        rows.add_row(Text(str(one.folder)), target, when, *others)
    return rows


def _folded(one: SpeedUp | None) -> str:
    """Return a speed-up with its interval below it, so that a terminal of 80 columns has room."""
    return str(one).replace(" [", "\n[") if one else ""


def _cells(one: Standing) -> list[str]:
    best = f"{one.best.value:.3f}" if one.best else "none"
    on = one.device if backend_named(one.backend).gpu else f"{one.device}, a CPU"
    return [one.target, on, f"{one.done} of {one.planned}", best, _folded(one.winner), one.state]
