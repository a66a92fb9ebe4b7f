"""``gi-cuda try``: evaluate genotypes that a user gives."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from gi_cuda import AUTO
from gi_cuda.cli.console import console, print_json
from gi_cuda.cli.files import scratch_folder
from gi_cuda.cli.next_steps import command_line, say_next
from gi_cuda.cli.options import (
    Backend,
    Bnf,
    Jobs,
    Json,
    Level,
    NoCache,
    Scope,
    TargetPath,
    cache_unless,
    chosen_backend,
    cores,
)
from gi_cuda.errors import UserError
from gi_cuda.evaluate.batches.experience.past_results import PastResults
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.evaluate.reference.baseline import establish
from gi_cuda.genome import Genotype
from gi_cuda.grammar import LARGEST_SET
from gi_cuda.report.as_json import TriedGenotype, TriedGenotypes
from gi_cuda.report.progress import Steps
from gi_cuda.report.results.try_out import reference_line, result_lines, tried_genotype
from gi_cuda.report.tables import say, say_whole
from gi_cuda.runs.tools import open_tools
from gi_cuda.subject import Subject


def command(
    target: TargetPath,
    genotypes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GENOTYPE]...", help="Each in quotes, such as 'BLOCK=128 <_kernel.cu_126>'."
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="More of them, one a line; - is the input."),
    ] = None,
    backend: Backend = AUTO,
    level: Level = "source",
    bnf: Bnf = None,
    scope: Scope = None,
    jobs: Jobs = 0,
    no_cache: NoCache = False,
    json: Json = False,
) -> None:
    """Evaluate genotypes on the train cases, as a search would: right or wrong and where, and how
    fast beside the reference; a line each, as they come."""
    backend = chosen_backend(backend)
    subject = open_subject(target, backend, level, bnf=bnf, scope=scope, edits=LARGEST_SET)
    texts = (*(genotypes or ()), *_lines(file))
    if not texts:
        raise UserError(
            "no genotype is named",
            where="gi-cuda try",
            hint=f"e.g. gi-cuda try {target} 'NAME=VALUE', or a file of them with --file",
        )
    wanted = [_read(subject, number, text) for number, text in enumerate(texts, 1)]
    cache = cache_unless(no_cache)
    with (
        scratch_folder() as folder,
        open_tools(subject, folder, workers=1, jobs=jobs or cores(), cache=cache) as tools,
    ):
        with Steps(console) as tell:
            scratch = tools.scratch("baseline")
            baseline = establish(
                subject, tools.compiler, tools.pool, scratch, tools.reference, tell
            )
        say(console, reference_line(baseline))
        evaluator = tools.evaluator(baseline, PastResults())
        batch = evaluator.prepare(dict(enumerate(wanted, 1)))
        found: dict[int, TriedGenotype] = {}
        for number, evaluation in evaluator.evaluate(batch):
            found[number] = tried_genotype(wanted[number - 1], evaluation)
            first, *genotype = result_lines(number, wanted[number - 1], evaluation)
            say(console, first)
            for line in genotype:
                say_whole(console, line)
    if json:
        tried = tuple(one for _, one in sorted(found.items()))
        print_json(TriedGenotypes(baseline.seconds, baseline.floor, tried))
    say_next(command_line("evolve", target), "search for more")


def _read(subject: Subject, number: int, text: str) -> Genotype:
    """Return the genotype of a text; errors name its number."""
    try:
        return subject.read(text)
    except UserError as error:
        place = "genotype" if error.where is None else error.where
        where = place.replace("genotype", f"genotype {number}", 1)
        raise UserError(error.what, where=where, hint=error.hint) from None


def _lines(file: Path | None) -> list[str]:
    """Return the non-empty lines of a file or of standard input, without comments."""
    if file is None:
        return []
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise UserError(f"cannot be read: {said}", where=str(file)) from None
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]
