"""Running a search from the command line: progress, Ctrl-C, and what is said at the end."""

from __future__ import annotations

import signal
import time as clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Annotated, TypeAlias

import typer

from gi_cuda.analyze.champion import crown
from gi_cuda.cli.common import console
from gi_cuda.evaluation import Evaluation
from gi_cuda.report.champion import print_champion
from gi_cuda.report.progress import Score, display
from gi_cuda.run import Run
from gi_cuda.search import PRESETS
from gi_cuda.search.evolution import End, Evolution

TimeLimit: TypeAlias = Annotated[
    float | None,
    typer.Option("--time", min=0, help="Seconds to search; then it stops cleanly."),
]


def search(run: Run, seconds: float | None) -> None:
    """Search until done, out of time or interrupted; then validate the best."""
    with _interruptible() as interrupted:
        began = clock.monotonic()

        def stop() -> bool:
            late = seconds is not None and clock.monotonic() - began > seconds
            return interrupted() or late

        laboratory = run.laboratory()
        settings = run.plan.settings
        evolution = Evolution(
            store=run.store,
            laboratory=laboratory,
            phases=laboratory.take_phases,
            strategy=PRESETS[run.plan.preset](settings),
            variation=run.variation(),
            settings=settings,
            seed=run.plan.seed,
            stop=stop,
        )
        score = Score(settings.generations, seconds, *_so_far(run))
        with display(console) as shown:
            for progress in evolution.run():
                score.take(progress)
                shown.show(score)
        if interrupted():
            console.print(
                f"stopped; {len(run.store.evaluations())} evaluations are kept."
                f" Go on with: gi-cuda resume {run.folder}",
                highlight=False,
                soft_wrap=True,
            )
            raise typer.Exit(130)
        if evolution.end is End.STOPPED:
            reason = f"time is up; go on with: gi-cuda resume {run.folder}"
        else:
            reason = str(evolution.end)
        console.print(reason, highlight=False, soft_wrap=True)
        with console.status("validating on the held-out cases"):
            champion = crown(run)
    print_champion(console, champion)


def _so_far(run: Run) -> tuple[tuple[int, Evaluation] | None, float]:
    """The best individual of a run and the share of its generations that are bred."""
    best = run.store.best(1)
    finished = sum(generation.finished for generation in run.store.generations())
    first = (best[0][0].ident, best[0][1]) if best else None
    return first, min(1.0, finished / run.plan.settings.generations)


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Ctrl-C and SIGTERM ask for a clean stop; a second one stops at once."""
    asked: list[int] = []

    def ask(number: int, frame: FrameType | None) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
