"""Output of ``gi-cuda runs``: a table of runs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from rich.table import Table
from rich.text import Text

from gi_cuda.analyze.stored.listing import Listed, Standing
from gi_cuda.backends.table import backend_named
from gi_cuda.report.tables import counted, table, whole
from gi_cuda.results.speed_up import SpeedUp


def runs_table(runs: Sequence[Listed]) -> Table:
    """Return a table with one row per run."""
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


def found_words(runs: Sequence[Listed]) -> str:
    """Summarize runs in words: number of winners, and their speed-ups on the held-out cases."""
    standings = [one.standing for one in runs if isinstance(one.standing, Standing)]
    gains = [one.winner.value if one.winner else 1.0 for one in standings]
    if not gains:
        return "no run can be read"
    with_winner = sum(one.winner is not None for one in standings)
    return (
        f"{with_winner} of {counted(len(runs), 'run')} have a winner; speed-up on the held-out"
        f" cases, 1 without a winner: median {median(gains):.3f}, best {max(gains):.3f}, worst"
        f" {min(gains):.3f}"
    )


def _folded(one: SpeedUp | None) -> str:
    """Return a speed-up with its interval on the next line, to fit into 80 columns."""
    return str(one).replace(" [", "\n[") if one else ""


def _cells(one: Standing) -> list[str]:
    best = f"{one.best.value:.3f}" if one.best else "none"
    on = one.device if backend_named(one.backend).gpu else f"{one.device}, a CPU"
    return [one.target, on, f"{one.done} of {one.planned}", best, _folded(one.winner), one.state]
