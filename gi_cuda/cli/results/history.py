"""``gi-cuda history``: show the origin of a run's winner."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.analyze.explain.quotes import source_lines
from gi_cuda.analyze.finalists.winner import ChosenIndividual, choose_individual, stored_winner
from gi_cuda.analyze.stored.history import Survivor, tell
from gi_cuda.cli.console import console, print_json, working
from gi_cuda.cli.files import check_figures, say_written
from gi_cuda.cli.next_steps import say_next_after
from gi_cuda.cli.options import (
    FiguresFolder,
    Json,
    MovedTarget,
    NoCache,
    RunPath,
    cache_unless,
    follow,
)
from gi_cuda.errors import UserError
from gi_cuda.report.as_json import AddedChange, ToldHistory
from gi_cuda.report.results.history import print_added, print_history
from gi_cuda.report.tables import say
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.runs.run import Run, open_run
from gi_cuda.spec import CaseRole


def command(
    run: RunPath,
    target: MovedTarget = None,
    figures: FiguresFolder = None,
    no_cache: NoCache = False,
    json: Json = False,
) -> None:
    """Show how a run came to its winner: generations, where each of its changes was found, its
    ancestors, and its speed as its changes are added one by one; with figures."""
    follow(run, target)
    from gi_cuda.report.figures.drawing import save
    from gi_cuda.report.figures.history import OF_ALL, OF_WINNERS, added

    folder = figures or run / "figures"
    with open_run(run, cache_unless(no_cache)) as opened:
        check_figures(folder, (*OF_ALL, *OF_WINNERS, "added"))
        store = opened.store
        generations = store.generations()
        if not generations:
            raise UserError(
                "the run has no generation yet", where=str(run), hint=f"gi-cuda resume {run}"
            )
        winner = _winner(opened)
        changes = winner.changes(opened.subject).changes if winner else ()
        named = (winner.ident, [str(change) for change in changes]) if winner else None
        history = tell(generations, store.individuals(), store.evaluations(), named)
        with working("reading the winner's changes one by one"):
            steps = _added(opened, winner, history.survivors) if winner else []
        lines = source_lines(opened.subject, changes)
        beside = opened.beside
    print_history(console, history, lines)
    files: list[Path] = []
    for name, draw in OF_ALL.items():
        files += save(draw(history), folder, name)
    if history.survivors:
        if beside:
            say(console, f"over {beside}:")
        print_added(console, steps)
        for name, draw in OF_WINNERS.items():
            files += save(draw(history), folder, name)
        files += save(added(steps), folder, "added")
    else:
        say(console, "no validated winner: nothing to tell of its changes and ancestors")
    say_written(files)
    if json:
        by_one = tuple(AddedChange(*one) for one in steps)
        ident = winner.ident if winner else None
        print_json(ToldHistory(ident, beside, history, by_one, tuple(map(str, files))))
    say_next_after(run)


def _winner(run: Run) -> ChosenIndividual | None:
    if stored_winner(run.store) is None:
        return None
    return choose_individual(run.store, run.subject, run.folder, None, as_found=False)


def _added(
    run: Run, winner: ChosenIndividual, survivors: tuple[Survivor, ...]
) -> list[tuple[str, SpeedUp | None]]:
    """Return the speedup after each change, as changes are added in the order of their
    discovery.
    """
    changed = winner.changes(run.subject)
    numbers = {str(change): at for at, change in enumerate(changed.changes)}
    order = [numbers[one.change] for one in survivors]
    grown = [changed.having(order[: number + 1]) for number in range(len(order))]
    readings = run.measurer(CaseRole.TRAIN)(grown)
    return [
        (one.change, reading.speed_up if reading.right else None)
        for one, reading in zip(survivors, readings, strict=True)
    ]
