"""``gi-cuda mutate``: print random variants of a target as diffs, or compile them."""

from __future__ import annotations

from typing import Annotated

import typer

from gi_cuda import AUTO
from gi_cuda.backends.compile.caching.cached import keeping
from gi_cuda.backends.table import open_compiler, resolved
from gi_cuda.cli.console import console
from gi_cuda.cli.files import scratch_folder
from gi_cuda.cli.next_steps import command_line, say_next, say_next_aside
from gi_cuda.cli.options import (
    MOST,
    Backend,
    Bnf,
    Edits,
    Jobs,
    Level,
    NoCache,
    Scope,
    TargetPath,
    cache_unless,
    cores,
)
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.evaluate.sampling import draw, try_out
from gi_cuda.report.targets.mutate import print_trials


def command(  # typer makes an option of each parameter
    target: TargetPath,
    sample: Annotated[int, typer.Option("--sample", min=1, max=MOST, help="Variants to draw.")] = 5,
    at_once: Annotated[
        int, typer.Option("--at-once", min=1, max=MOST, help="Edits in each variant.")
    ] = 1,
    edits: Edits = "paper",
    seed: Annotated[int, typer.Option(help="Decides what is drawn.")] = 1,
    configure: Annotated[
        bool, typer.Option("--configure", help="Each under a random configuration.")
    ] = False,
    compile_: Annotated[
        bool,
        typer.Option("--compile", help="Compile them, and report how many do, instead of diffs."),
    ] = False,
    backend: Backend = AUTO,
    level: Level = "source",
    bnf: Bnf = None,
    scope: Scope = None,
    jobs: Jobs = 0,
    no_cache: NoCache = False,
) -> None:
    """Draw random variants as a search draws them; print them as diffs, or compile them."""
    backend, _ = resolved(backend)
    subject = open_subject(target, backend, level, bnf=bnf, scope=scope, edits=edits)
    genotypes = list(draw(subject, sample, at_once, seed, configured=configure))
    if compile_:
        with scratch_folder() as scratch:
            plain = open_compiler(subject, jobs or cores())
            compiler = keeping(plain, cache_unless(no_cache))
            trials = try_out(subject, compiler, genotypes, scratch)
        print_trials(console, subject, trials)
    else:
        for number, genotype in enumerate(genotypes, 1):
            typer.echo(f"# {number}: {genotype}")
            typer.echo(subject.diff(genotype))
    # Diffs on standard output may be read by a program.
    tell = say_next if compile_ else say_next_aside
    for genotype in genotypes[:1]:
        tell(command_line("try", target, str(genotype)), "evaluate the first")
