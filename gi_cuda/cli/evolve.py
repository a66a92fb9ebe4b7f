"""``gi-cuda evolve``: the search, from a target to a validated winner."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from gi_cuda import BACKENDS
from gi_cuda.analyze.winner import predecessor
from gi_cuda.backends.table import open_backend
from gi_cuda.cli.console import console
from gi_cuda.cli.files import set_aside
from gi_cuda.cli.options import (
    Backend,
    Bnf,
    Edits,
    Force,
    Jobs,
    Level,
    Scope,
    TargetPath,
    Workers,
    check_backend,
    check_edits,
    cores,
)
from gi_cuda.cli.searching import TimeLimit, saying_how_to_go_on, search
from gi_cuda.errors import UserError
from gi_cuda.evaluate.levels import check_level, open_subject
from gi_cuda.report.tables import say
from gi_cuda.runs.run import create_run, default_folder
from gi_cuda.runs.stored import Plan
from gi_cuda.search import BARRACUDA, PRESETS


def command(
    target: TargetPath,
    run: Annotated[
        Path | None,
        typer.Option("--run", help="Folder for the run; by default runs/<target>-<number>."),
    ] = None,
    preset: Annotated[
        str, typer.Option("--preset", help=f"Search strategy: {', '.join(PRESETS)}.")
    ] = "barracuda",
    population: Annotated[
        int, typer.Option(min=1, help="New individuals in a generation.")
    ] = BARRACUDA.population,
    generations: Annotated[
        int, typer.Option(min=1, help="Generations to breed.")
    ] = BARRACUDA.generations,
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
    force: Force = False,
) -> None:
    """Evolve a target's source or its PTX; ends with the best individual validated on held-out
    cases."""
    if preset not in PRESETS:
        raise UserError(
            f"there is no preset {preset!r}", where="--preset", hint=f"one of: {', '.join(PRESETS)}"
        )
    check_level(level, check_backend(backend))
    begun = None if start is None else predecessor(start, target)
    subject = open_subject(
        target, backend, level, bnf=bnf, scope=scope, edits=check_edits(edits), start=begun
    )
    if preset == "tune" and level != "source":
        raise UserError(
            "the tune preset varies parameters, and PTX has none",
            where="--preset",
            hint="choose another preset, or leave --level out",
        )
    folder = run or default_folder(subject.target.name)
    settings = replace(BARRACUDA, population=population, generations=generations)
    # Before anything is removed: where it cannot be used, all stays as it is.
    measurements = open_backend(backend).workers(workers, cores())
    plan = Plan(preset, settings, seed, measurements, jobs or cores())
    if preset == "tune" and not subject.target.parameters:
        raise UserError(
            "there is nothing to tune: the target has no parameters",
            where=str(subject.target.file),
            hint="add a [[parameter]], or choose another --preset",
        )
    with ExitStack() as stack:
        stack.enter_context(saying_how_to_go_on(folder))
        room = stack.enter_context(ExitStack())
        if force:
            room.enter_context(set_aside(folder))
        opened = stack.enter_context(create_run(subject, folder, plan, begun))
        room.close()
        say(
            console,
            f"evolving {subject.target.name} in {folder}: reference"
            f" {opened.baseline.seconds * 1e3:.3f} ms, noise floor {opened.baseline.floor:.2%}",
        )
        if opened.started is not None:
            say(console, f"starting from {opened.started}")
        search(opened, time)
