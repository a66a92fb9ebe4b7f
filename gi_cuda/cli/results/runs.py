"""``gi-cuda runs``: list runs with their progress."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gi_cuda.analyze.stored.listing import Standing, list_runs
from gi_cuda.cli.console import console
from gi_cuda.cli.next_steps import command_line, say_next
from gi_cuda.errors import UserError
from gi_cuda.report.results.runs import runs_table
from gi_cuda.report.tables import print_table


def command(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A folder with runs, or a run.")
    ] = Path("runs"),
) -> None:
    """List the runs in a folder: target, when, on what, generations, the best with its interval,
    and whether they are done, stopped or at work."""
    runs = list_runs(folder)
    if not runs:
        raise UserError(
            "there is no run in this folder",
            where=str(folder),
            hint="gi-cuda evolve TARGET makes one in runs; another folder: gi-cuda runs FOLDER",
        )
    print_table(console, runs_table(runs))
    last = runs[-1]
    if isinstance(last.standing, Standing) and last.standing.state.startswith("stopped"):
        say_next(command_line("resume", last.folder), "go on with the last one")
    else:
        say_next(command_line("show", last.folder), "what the last one found")
