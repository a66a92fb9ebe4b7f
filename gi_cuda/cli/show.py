"""``gi-cuda show``: what a run has found so far."""

from __future__ import annotations

from typing import Annotated

import typer

from gi_cuda.analyze.explain.quotes import source_lines
from gi_cuda.analyze.winner import choose_individual, stored_minimized, stored_winner
from gi_cuda.cli.console import console
from gi_cuda.cli.next_steps import say_next_of_run
from gi_cuda.cli.options import LARGEST, MOST, MovedTarget, RunPath, follow
from gi_cuda.errors import UserError
from gi_cuda.genome import Genotype
from gi_cuda.report.show import BY_WHAT_IS_SURE, generations_table, phases_table, print_individuals
from gi_cuda.report.tables import print_diff, print_table, say, say_whole
from gi_cuda.report.winner import device_words, print_winner
from gi_cuda.results.generation import Phases
from gi_cuda.results.verdict import Verdict
from gi_cuda.runs.stored import open_store, stored_subject
from gi_cuda.store import Store
from gi_cuda.subject import Started, Subject


def command(
    run: RunPath,
    target: MovedTarget = None,
    best: Annotated[
        int, typer.Option(min=0, max=MOST, help="Show so many of the best individuals.")
    ] = 5,
    generation: Annotated[
        int | None, typer.Option(min=0, max=LARGEST, help="Show all individuals of one generation.")
    ] = None,
    individual: Annotated[
        int | None, typer.Option(max=LARGEST, help="Show one individual whole, with its diff.")
    ] = None,
) -> None:
    """Show a run: counts and times of every generation, the best individuals, the winner."""
    follow(run, target)
    with open_store(run) as store:
        if individual is not None:
            _individual(store, run, individual)
        elif generation is not None:
            _generation(store, generation)
        else:
            _overview(store, best)
            _diff(store, run, None)
        say_next_of_run(store, run)


def _overview(store: Store, best: int) -> None:
    plan = store.get("plan")
    say(
        console,
        f"{store.get('target')} on {store.get('device')} ({store.get('backend')} back end),"
        f" preset {plan['preset']}, seed {plan['seed']}",
    )
    if (started := store.load("started", Started)) is not None:
        say(console, f"started from {started}")
    generations = store.generations()
    best_of_each = [store.best_ratio(generation.number) for generation in generations]
    print_table(console, generations_table(generations, best_of_each))
    if any(not generation.finished for generation in generations):
        say(console, "* not finished; go on with gi-cuda resume")
    total = sum((generation.phases for generation in generations), Phases())
    print_table(console, phases_table(total, sum(sum(g.outcomes.values()) for g in generations)))
    if best:
        _print_best(store, best)
        console.print()
    on = device_words(store.get("backend"), store.get("device"))
    winner = stored_winner(store)
    print_winner(console, winner, on, stored_minimized(store, winner.ident) if winner else None)


def _print_best(store: Store, count: int) -> None:
    """The fastest, or where none is certain, what may turn out to be."""
    members = store.best(count)
    heading = f"best individuals ({BY_WHAT_IS_SURE}):"
    if not members:
        members = store.best(count, Verdict.UNCERTAIN)
        heading = "no individual is certainly faster; of the uncertain ones, the best:"
    if not members:
        heading = "no individual is faster, or may be"
    say(console, heading)
    print_individuals(console, members)


def _generation(store: Store, number: int) -> None:
    members = store.individuals(number)
    if not members:
        raise UserError(f"the run has no generation {number}", where="--generation")
    evaluations = store.evaluations(number)
    print_individuals(console, [(one, evaluations.get(one.ident)) for one in members])


def _individual(store: Store, run: RunPath, ident: int) -> None:
    one = store.individual(ident)
    if one is None:
        raise UserError(f"the run has no individual {ident}", where="--individual")
    evaluation = store.evaluations(one.generation).get(ident)
    print_individuals(console, [(one, evaluation)])
    if evaluation and evaluation.message:
        say_whole(console, evaluation.message)
    _diff(store, run, ident)


def _diff(store: Store, run: RunPath, ident: int | None) -> None:
    """Of an individual; else of the winner as the commands after the search take it, or of the
    best on the train cases."""
    try:
        subject = stored_subject(store, run)
    except UserError as error:
        # The numbers are worth as much without it.
        said = f"{error.where}: {error.what}" if error.where else error.what
        say(console, f"no diff: {said}")
        if error.hint:
            say_whole(console, f"  {error.hint}")
        return
    if ident is None and stored_winner(store) is not None:
        winner = choose_individual(store, subject, run, None, as_found=False)
        _print_diff(subject, str(winner), winner.genotype)
        return
    found = [one for one, _ in store.best(1)] if ident is None else [store.individual(ident)]
    for one in found:
        if one is not None:
            _print_diff(subject, f"individual {one.ident}", subject.read(one.genotype))


def _print_diff(subject: Subject, name: str, one: Genotype) -> None:
    if lines := source_lines(subject, one.edits):
        say(console, f"source lines of {name}:")
        for change, line in lines.items():
            say_whole(console, f"  {change}  {line}")
    diff = subject.diff(one)
    say(console, f"{name} as a diff:" if diff else "no change in the source")
    print_diff(console, diff)
