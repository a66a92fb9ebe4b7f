"""``gi-cuda show``: show the results of a run so far."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from gi_cuda.analyze.explain.explanation import sentences
from gi_cuda.analyze.explain.quotes import source_lines
from gi_cuda.analyze.finalists.winner import find_individual
from gi_cuda.analyze.stored.records import (
    RunRecord,
    individual_record,
    individual_records,
    readable_subject,
    run_record,
)
from gi_cuda.cli.console import console, print_json
from gi_cuda.cli.next_steps import say_next_of_run
from gi_cuda.cli.options import LARGEST, MOST, Json, MovedTarget, RunPath, follow
from gi_cuda.errors import UserError
from gi_cuda.genome import canonical
from gi_cuda.report.as_json import ShownGeneration, ShownIndividual
from gi_cuda.report.results.show import (
    BY_WHAT_IS_SURE,
    generations_table,
    phases_table,
    print_individuals,
)
from gi_cuda.report.results.winner import device_words, print_changes, print_winner
from gi_cuda.report.tables import print_diff, print_table, say, say_whole
from gi_cuda.report.targets.untested import untested_words
from gi_cuda.results.verdict import Verdict
from gi_cuda.runs.stored import open_store
from gi_cuda.store import Store
from gi_cuda.subject import Subject
from gi_cuda.tune.rest import rest_words


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
    json: Json = False,
) -> None:
    """Show a run: counts and times of every generation, the best individuals, the winner."""
    follow(run, target)
    with open_store(run) as store:
        record: object
        if individual is not None:
            record = _individual(store, run, individual)
        elif generation is not None:
            record = _generation(store, run, generation)
        else:
            record = _overview(store, run, best)
        say_next_of_run(store, run)
    if json:
        print_json(record)


def _overview(store: Store, run: Path, best: int) -> RunRecord:
    subject, why = readable_subject(store, run)
    record = run_record(store, run, best, subject)
    say(
        console,
        f"{record.target} on {record.device} ({record.backend} back end),"
        f" preset {record.plan.preset}, seed {record.plan.seed}",
    )
    if record.started is not None:
        say(console, f"started from {record.started}")
    for line in untested_words(record.untested, allowed=record.plan.untested):
        say(console, line)
    generations = store.generations()
    best_of_each = [store.best_ratio(generation.number) for generation in generations]
    print_table(console, generations_table(generations, best_of_each))
    if any(not generation.finished for generation in generations):
        say(console, "* not finished; go on with gi-cuda resume")
    individuals = sum(sum(one.outcomes.values()) for one in generations)
    print_table(console, phases_table(record.phases, individuals))
    if best:
        _print_best(store, best, subject)
        console.print()
    print_winner(console, record.winner, device_words(record.backend, record.device))
    for name, limit in record.near_limit.items():
        say(console, f"{name} on the train cases: {limit}")
    if record.rest is not None:
        say(console, rest_words(record.rest))
    if subject is None:
        # The numbers are useful without the target.
        say_whole(console, f"no diff: {why}")
    elif record.winner is not None:
        _print_diff(subject, str(record.winner), record.winner.genotype)
    else:
        for one, _ in store.best(1):
            _print_diff(subject, f"individual {one.ident}", one.genotype)
    return record


def _print_best(store: Store, count: int, subject: Subject | None) -> None:
    """Print the best individuals, or, if none is certainly faster, the uncertain ones."""
    members = store.best(count)
    heading = f"best individuals ({BY_WHAT_IS_SURE}):"
    if not members:
        members = store.best(count, Verdict.UNCERTAIN)
        heading = "no individual is certainly faster; of the uncertain ones, the best:"
    if not members:
        heading = "no individual is faster, or may be"
    say(console, heading)
    print_individuals(console, members, _effective(subject))


def _effective(subject: Subject | None) -> Callable[[str], str]:
    """Return a function that removes overridden edits from a genotype, if the target can be
    read.
    """
    if subject is None:
        return lambda text: text
    return lambda text: str(canonical(subject.read(text), subject.order))


def _generation(store: Store, run: Path, number: int) -> ShownGeneration:
    members = store.individuals(number)
    if not members:
        raise UserError(f"the run has no generation {number}", where="--generation")
    evaluations = store.evaluations(number)
    subject, _ = readable_subject(store, run)
    told = [(one, evaluations.get(one.ident)) for one in members]
    print_individuals(console, told, _effective(subject))
    return ShownGeneration(tuple(individual_records(store, number)))


def _individual(store: Store, run: Path, ident: int) -> ShownIndividual:
    one = find_individual(store, run, ident)
    evaluation = store.evaluations(one.generation).get(ident)
    subject, why = readable_subject(store, run)
    print_individuals(console, [(one, evaluation)], _effective(subject))
    if evaluation and evaluation.message:
        say_whole(console, evaluation.message)
    diff = None
    if subject is None:
        say_whole(console, f"no diff: {why}")
    else:
        print_changes(console, sentences(subject, subject.read(one.genotype)))
        diff = _print_diff(subject, f"individual {ident}", one.genotype)
    return ShownIndividual(individual_record(one, evaluation), diff)


def _print_diff(subject: Subject, name: str, genotype: str) -> str:
    one = subject.read(genotype)
    if lines := source_lines(subject, one.edits):
        say(console, f"source lines of {name}:")
        for change, line in lines.items():
            say_whole(console, f"  {change}  {line}")
    diff = subject.diff(one)
    say(console, f"{name} as a diff:" if diff else "no change in the source")
    print_diff(console, diff)
    return diff
