"""``gi-cuda mutate``: random variants of a target as diffs, and whether they compile."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from gi_cuda.backends.table import open_compiler
from gi_cuda.cli.common import (
    Backend,
    Bnf,
    Edits,
    Jobs,
    Level,
    Scope,
    TargetPath,
    check_backend,
    check_edits,
    console,
    cores,
)
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.evaluate.sampling import Trials, draw, try_out
from gi_cuda.report.tables import print_table
from gi_cuda.subject import Subject

_MOST_ERRORS = 12
_MOST_SHOWN = 10
"""Variants that fail, shown one by one."""


def command(
    target: TargetPath,
    sample: Annotated[int, typer.Option("--sample", min=1, help="Variants to draw.")] = 5,
    at_once: Annotated[int, typer.Option("--at-once", min=1, help="Edits in each variant.")] = 1,
    edits: Edits = "paper",
    seed: Annotated[int, typer.Option(help="Decides what is drawn.")] = 1,
    configure: Annotated[
        bool, typer.Option("--configure", help="Each under a random configuration.")
    ] = False,
    compile_: Annotated[
        bool,
        typer.Option("--compile", help="Compile them, and report how many do, instead of diffs."),
    ] = False,
    backend: Backend = "host",
    level: Level = "source",
    bnf: Bnf = None,
    scope: Scope = None,
    jobs: Jobs = 0,
) -> None:
    """Draw random variants as a search draws them; print them as diffs, or compile them."""
    subject = open_subject(
        target, check_backend(backend), level, bnf=bnf, scope=scope, edits=check_edits(edits)
    )
    genotypes = list(draw(subject, sample, at_once, seed, configured=configure))
    if compile_:
        with tempfile.TemporaryDirectory(prefix="gi-cuda-mutate-") as scratch:
            compiler = open_compiler(subject, jobs or cores())
            trials = try_out(subject, compiler, genotypes, Path(scratch))
        print_table(console, types_table(trials))
        if trials.failed:
            print_table(console, errors_table(trials))
            print_failures(subject, trials)
        console.print(summary(trials), highlight=False, soft_wrap=True)
        return
    for number, genotype in enumerate(genotypes, 1):
        typer.echo(f"# {number}: {genotype}")
        typer.echo(subject.diff(genotype))


def print_failures(subject: Subject, trials: Trials) -> None:
    """The first variants that do not compile, each with the compiler's message and as a diff."""
    shown = list(trials.failed.items())[:_MOST_SHOWN]
    for at, message in shown:
        genotype = trials.tried[at]
        typer.echo(f"# does not compile: {genotype}")
        typer.echo(f"# {message.strip().splitlines()[0] if message.strip() else 'no message'}")
        typer.echo(subject.diff(genotype))
    if len(trials.failed) > len(shown):
        typer.echo(f"# and {len(trials.failed) - len(shown)} more that do not compile")


def types_table(trials: Trials) -> Table:
    """How many variants compile, by the type of the rules that they edit."""
    table = Table(title="by rule type", title_justify="left", pad_edge=False, box=SIMPLE_HEAD)
    table.add_column("type")
    for name in ("variants", "failed", "compile"):
        table.add_column(name, justify="right")
    for kind, (tried, failed) in trials.by_type().items():
        table.add_row(str(kind), str(tried), str(failed), f"{1 - failed / tried:.1%}")
    return table


def errors_table(trials: Trials) -> Table:
    """What the compiler said most often, names left out."""
    table = Table(title="by error", title_justify="left", pad_edge=False, box=SIMPLE_HEAD)
    table.add_column("message", overflow="fold")
    table.add_column("variants", justify="right")
    table.add_column("for example", no_wrap=True)
    for message, genotypes in list(trials.by_error().items())[:_MOST_ERRORS]:
        table.add_row(message, str(len(genotypes)), str(genotypes[0]))
    return table


def summary(trials: Trials) -> str:
    """The whole in one line."""
    compiled = len(trials.tried) - len(trials.failed)
    return (
        f"{compiled} of {len(trials.tried)} variants compile ({trials.rate:.2%});"
        f" {trials.drawn - len(trials.tried)} of {trials.drawn} drawn were the original or"
        " another's twin"
    )
