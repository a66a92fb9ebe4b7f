"""Runs as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from gi_cuda.analyze.listing import Listed, Standing
from gi_cuda.report.tables import table, whole
from gi_cuda.report.winner import device_words


def runs_table(runs: Sequence[Listed]) -> Table:
    """One row a run."""
    rows = table(
        "runs, the last one worked on below",
        *whole("run"),
        *("target", "when", "on", "gen", "speed-up", "state"),
        caption="gen: generations; speed-up: with 95 % interval",
        wide=True,
    )
    for one in runs:
        when = f"{one.when:%Y-%m-%d %H:%M}"
        told = one.standing
        cells = _cells(told) if isinstance(told, Standing) else ["", "", "", "", told]
        target, *others = map(Text, cells)
        rows.add_row(Text(str(one.folder)), target, when, *others)
    return rows


def _cells(one: Standing) -> list[str]:
    if one.winner is not None:
        best = f"{one.winner} held-out cases"
    elif one.best is not None:
        best = f"{one.best} train cases, not validated"
    else:
        best = "none is faster"
    on = device_words(one.backend, one.device)
    return [one.target, on, f"{one.done} of {one.planned}", best, one.state]
