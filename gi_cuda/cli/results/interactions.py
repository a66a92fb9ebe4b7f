"""``gi-cuda interactions``: measure how a winner's changes depend on each other."""

from __future__ import annotations

from typing import Annotated

import typer

from gi_cuda.analyze.explain.explanation import sentences
from gi_cuda.analyze.finalists.winner import choose_individual, keep_dependencies, refuse_wrong
from gi_cuda.analyze.interactions.algorithm import BUDGET, interactions
from gi_cuda.cli.console import console, print_json, working
from gi_cuda.cli.files import check_figures, say_written, write_new
from gi_cuda.cli.next_steps import say_next_after
from gi_cuda.cli.options import (
    MOST,
    AsFound,
    FiguresFolder,
    IndividualNumber,
    Json,
    MovedTarget,
    NoCache,
    RunPath,
    cache_unless,
    follow,
)
from gi_cuda.errors import UserError
from gi_cuda.report.as_json import FoundInteractions
from gi_cuda.report.results.interactions import dot, print_interactions
from gi_cuda.report.tables import counted, say
from gi_cuda.runs.run import open_run
from gi_cuda.spec import CaseRole


def command(
    run: RunPath,
    target: MovedTarget = None,
    individual: IndividualNumber = None,
    as_found: AsFound = False,
    budget: Annotated[
        int,
        typer.Option(
            min=1, max=MOST, help="Read so many subsets of the dependent changes at most."
        ),
    ] = BUDGET,
    figures: FiguresFolder = None,
    no_cache: NoCache = False,
    json: Json = False,
) -> None:
    """Tell independent from dependent changes, and read the subsets of the dependent ones: groups,
    what fails without what, and what gains more or less together; with a graph."""
    follow(run, target)
    from gi_cuda.report.figures.drawing import save
    from gi_cuda.report.figures.interactions import graph

    folder = figures or run / "figures"
    with open_run(run, cache_unless(no_cache)) as opened:
        check_figures(folder, ["interactions"])
        winner = choose_individual(opened.store, opened.subject, run, individual, as_found=as_found)
        changes = winner.changes(opened.subject)
        if not changes.changes:
            raise UserError(f"{winner} changes nothing", where=str(run))
        with (
            working(f"reading subsets of {winner}: {counted(len(changes.changes), 'change')}"),
            refuse_wrong(winner, run),
        ):
            result = interactions(changes, opened.measurer(CaseRole.TRAIN), budget)
        keep_dependencies(opened.store, winner, result)
        beside, told = opened.beside, sentences(opened.subject, winner.genotype)
    if beside:
        say(console, f"gains over {beside}")
    print_interactions(console, str(winner), result, told)
    files = save(graph(result), folder, "interactions")
    files.append(folder / "interactions.dot")
    write_new(files[-1], dot(result), force=True)
    say_written(files)
    if json:
        found = (str(winner.genotype), beside, result, tuple(map(str, files)))
        print_json(FoundInteractions(winner.ident, *found))
    say_next_after(run)
