"""Runs as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from gi_cuda.analyze.listing import Listed, Standing
from gi_cuda.backends.table import backend_named
from gi_cuda.report.tables import table, whole


def runs_table(runs: Sequence[Listed]) -> Table:
    """One row a run."""
    rows = table(
        "runs, the last one worked on below",
        *whole("run"),
        *("target", "when", "on", "gen"),
        *whole("speed-up"),
        "state",
        caption="gen: generations; speed-up: on the held-out cases, or while there is no winner the"
        " best on the train cases, with 95 % interval",
    )
    for one in runs:
        when = f"{one.when:%Y-%m-%d %H:%M}"
        told = one.standing
        cells = _cells(told) if isinstance(told, Standing) else ["", "", "", "", told]
        target, *others = map(Text, cells)
        rows.add_row(Text(str(one.folder)), target, when, *others)
    return rows


def _cells(one: Standing) -> list[str]:
    state = one.state
    if one.winner is None and one.best is not None:
        state += ", no winner yet"
    best = one.winner or one.best or "none is faster"
    on = one.device if backend_named(one.backend).gpu else f"{one.device}, a CPU"
    return [one.target, on, f"{one.done} of {one.planned}", str(best), state]
