"""``gi-cuda explain``: describe each change of a winner."""

from __future__ import annotations

from typing import Annotated

import typer

from gi_cuda.analyze.explain.explanation import explain, keep_explanations
from gi_cuda.analyze.finalists.winner import choose_individual
from gi_cuda.cli.console import console, print_json, working
from gi_cuda.cli.next_steps import say_next_after
from gi_cuda.cli.options import (
    AsFound,
    IndividualNumber,
    Json,
    MovedTarget,
    NoCache,
    RunPath,
    cache_unless,
    follow,
)
from gi_cuda.report.as_json import Explained
from gi_cuda.report.results.explain import print_explanations
from gi_cuda.runs.run import open_run


def command(
    run: RunPath,
    target: MovedTarget = None,
    individual: IndividualNumber = None,
    as_found: AsFound = False,
    no_cache: NoCache = False,
    history: Annotated[
        bool, typer.Option("--history", help="How the search came to it, as tables and figures.")
    ] = False,
    interactions: Annotated[
        bool, typer.Option("--interactions", help="Which changes need each other, measured.")
    ] = False,
    json: Json = False,
) -> None:
    """Explain the winner's changes one by one: the diff, the kinds of rules, what each is worth,
    on which cases its place is executed, and what it changes in the compiled kernel.

    --history and --interactions take options of their own: add --help."""
    del (
        history,
        interactions,
    )  # handled by gi_cuda.cli.results.history and gi_cuda.cli.results.interactions
    follow(run, target)
    with open_run(run, cache_unless(no_cache)) as opened:
        winner = choose_individual(opened.store, opened.subject, run, individual, as_found=as_found)
        with working(f"explaining {winner}"):
            explanations = explain(opened, winner)
        keep_explanations(opened.store, winner, explanations)
        beside = opened.beside
    note = f"source lines are those of {beside}, gains over it" if beside else ""
    print_explanations(console, str(winner), explanations, note)
    if json:
        print_json(Explained(winner.ident, str(winner.genotype), beside, tuple(explanations)))
    say_next_after(run)
