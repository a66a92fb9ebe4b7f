"""``gi-cuda evolve``: the search, from a target to a validated winner."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gi_cuda import BACKENDS
from gi_cuda.analyze.winner import predecessor
from gi_cuda.backends.table import open_backend
from gi_cuda.cli.console import console
from gi_cuda.cli.options import (
    LARGEST,
    MOST,
    Backend,
    Bnf,
    Edits,
    Force,
    Jobs,
    Level,
    NoCache,
    Scope,
    TargetPath,
    Workers,
    cache_unless,
    check_backend,
    check_edits,
    cores,
)
from gi_cuda.cli.searching import TimeLimit, saying_how_to_go_on, search
from gi_cuda.evaluate.levels import check_level, open_subject
from gi_cuda.report.tables import say
from gi_cuda.runs.create import create_run, default_folder
from gi_cuda.runs.stored import Plan
from gi_cuda.search import DEFAULT, PRESETS, find_preset

_PRESETS = "; ".join(f"{name}: {preset.help}" for name, preset in PRESETS.items())


def _of_preset(number: str) -> str:
    """What to say of the default of an option whose default is the preset's."""
    return f"the preset's own; {DEFAULT} has {getattr(PRESETS[DEFAULT].settings, number)}"


# Each parameter is an option of the command line.
def command(
    target: TargetPath,
    run: Annotated[
        Path | None,
        typer.Option("--run", help="Folder for the run; by default runs/<target>-<number>."),
    ] = None,
    preset: Annotated[str, typer.Option("--preset", help=f"How to search. {_PRESETS}.")] = DEFAULT,
    population: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST,
            help="New individuals in a generation.",
            show_default=_of_preset("population"),
        ),
    ] = None,
    generations: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=LARGEST,
            help="Generations to breed.",
            show_default=_of_preset("generations"),
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides every choice of the search.")] = 1,
    time: TimeLimit = None,
    backend: Backend = BACKENDS[0],
    edits: Edits = "paper",
    level: Level = "source",
    start: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="RUN",
            help="Start from the winner of this run on the source, instead of from the reference.",
        ),
    ] = None,
    bnf: Bnf = None,
    scope: Scope = None,
    workers: Workers = 0,
    jobs: Jobs = 0,
    no_cache: NoCache = False,
    force: Force = False,
) -> None:
    """Evolve a target's source or its PTX; ends with the best individual validated on held-out
    cases."""
    chosen = find_preset(preset, "--preset")
    check_level(level, check_backend(backend))
    begun = None if start is None else predecessor(start, target)
    subject = open_subject(
        target, backend, level, bnf=bnf, scope=scope, edits=check_edits(edits), start=begun
    )
    chosen.demand(subject)
    plan = Plan(
        preset,
        chosen.settings.having(population, generations),
        seed,
        open_backend(backend).workers(workers, cores()),
        jobs or cores(),
    )
    folder = run or default_folder(subject.target.name)
    with (
        saying_how_to_go_on(folder),
        create_run(
            subject, folder, plan, begun, overwrite=force, cache=cache_unless(no_cache)
        ) as opened,
    ):
        say(
            console,
            f"evolving {subject.target.name} in {folder}: reference"
            f" {opened.baseline.seconds * 1e3:.3f} ms, noise floor {opened.baseline.floor:.2%}",
        )
        if opened.started is not None:
            say(console, f"starting from {opened.started}")
        search(opened, time)
