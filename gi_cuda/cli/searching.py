"""Running a search from the command line: progress, Ctrl-C, and what is said at the end."""

from __future__ import annotations

import signal
import time as clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, TypeAlias

import typer

from gi_cuda.analyze.winner import how_to_go_on, select_winner
from gi_cuda.cli.console import console, working
from gi_cuda.report.progress import Score, display
from gi_cuda.report.tables import say
from gi_cuda.report.winner import device_words, print_next_steps, print_winner
from gi_cuda.results.evaluation import Evaluation, Outcome
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import DATABASE
from gi_cuda.search.loop import End

TimeLimit: TypeAlias = Annotated[
    float | None,
    typer.Option("--time", min=0, help="Seconds to search; then it stops cleanly."),
]


def search(run: Run, seconds: float | None) -> None:
    """Search until done, out of time or interrupted; then validate the best."""
    with _interruptible() as interrupted:
        end = _evolve(run, seconds, interrupted)
        if interrupted():
            say(
                console,
                f"stopped; {len(run.store.evaluations())} evaluations are kept."
                f" Go on with: gi-cuda resume {run.folder}",
            )
            raise typer.Exit(130)
        reason = str(end)
        if end is End.STOPPED:
            reason = f"time is up; go on with: gi-cuda resume {run.folder}"
        say(console, reason)
        with working("validating on the held-out cases"):
            winner = select_winner(run)
    on = device_words(run.subject.backend, run.store.get("device"))
    print_winner(console, winner, on)
    if winner is None:
        faster = sum(g.outcomes.get(Outcome.FASTER, 0) for g in run.store.generations())
        print_next_steps(console, faster, list(_next_steps(run)))


def _evolve(run: Run, seconds: float | None, interrupted: Callable[[], bool]) -> End | None:
    """Search, show how it goes, and say why it ended."""
    began = clock.monotonic()

    def stop() -> bool:
        late = seconds is not None and clock.monotonic() - began > seconds
        return interrupted() or late

    evolution = run.evolution(stop)
    score = Score(run.plan.settings.generations, seconds, *_so_far(run))
    with display(console) as shown:
        for progress in evolution.run():
            score.take(progress)
            shown.show(score)
    return evolution.end


def _next_steps(run: Run) -> Iterator[str]:
    """What may find more than this search did."""
    subject, settings = run.subject, run.plan.settings
    yield f"more generations: {how_to_go_on(run.store, run.folder)}"
    code = run.preset.variation.code
    if not code:
        yield "evolve the code as well: another --preset"
    elif not subject.compiled and subject.edits != "full":
        yield "more kinds of changes: --edits full"
    if not subject.target.parameters and not subject.compiled:
        yield "parameters, such as the size of a block: [[parameter]] in target.toml"
    if code:
        yield f"a larger population: --population {4 * settings.population}"


def _so_far(run: Run) -> tuple[tuple[int, Evaluation] | None, float]:
    """The best individual of a run and the share of its generations that are bred."""
    best = run.store.best(1)
    finished = sum(generation.finished for generation in run.store.generations())
    first = (best[0][0].ident, best[0][1]) if best else None
    return first, min(1.0, finished / run.plan.settings.generations)


@contextmanager
def saying_how_to_go_on(folder: Path) -> Iterator[None]:
    """Where Ctrl-C ends a search at once, say what is left of it."""
    try:
        yield
    except KeyboardInterrupt:
        said = "nothing is kept: the search had not begun"
        if (folder / DATABASE).is_file():
            said = f"what was finished is kept; go on with: gi-cuda resume {folder}"
        say(console, said)
        raise


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
