"""``gi-cuda resume``: go on with a run that was stopped or killed."""

from __future__ import annotations

from typing import Annotated

import typer

from gi_cuda.cli.common import RunPath, console
from gi_cuda.cli.searching import TimeLimit, search
from gi_cuda.run import open_run


def command(
    run: RunPath,
    generations: Annotated[
        int | None, typer.Option(min=1, help="Go on to so many generations in all.")
    ] = None,
    time: TimeLimit = None,
) -> None:
    """Go on with a run where it was stopped or killed; nothing finished is done again."""
    with open_run(run) as opened:
        if generations is not None:
            opened = opened.extended(generations)
        done = len(opened.store.evaluations())
        console.print(f"resuming {run}: {done} individuals are evaluated already", highlight=False)
        search(opened, time)
