"""``gi-cuda compare``: measure winners, genotypes, patches and machine code in one session."""

from __future__ import annotations

from os.path import isdir
from pathlib import Path
from typing import Annotated

import typer

from gi_cuda import AUTO
from gi_cuda.analyze.compare.comparison import Comparison, compare
from gi_cuda.analyze.compare.contestants import Reader, as_run
from gi_cuda.backends.table import resolved
from gi_cuda.cli.console import console, print_json
from gi_cuda.cli.files import check_figures, check_new, say_written, scratch_folder, write_new
from gi_cuda.cli.next_steps import command_line, say_next
from gi_cuda.cli.options import Backend, Force, Json, NoCache, cache_unless, cores
from gi_cuda.errors import UserError, no_run, runs_here
from gi_cuda.evaluate.reference.baseline import establish
from gi_cuda.grammar import LARGEST_SET
from gi_cuda.report.progress import Steps
from gi_cuda.report.results.compare import comma_separated, print_comparison, record
from gi_cuda.report.results.searches import latex
from gi_cuda.report.tables import say
from gi_cuda.runs.stored import open_store, stored_target
from gi_cuda.runs.tools import open_tools
from gi_cuda.subject import load_subject


def command(
    contestants: Annotated[
        list[str],
        typer.Argument(
            metavar="CONTESTANT...",
            help="Each a run's folder (its winner; RUN:123 is its individual 123), a patch, a"
            " genotype in notation, or a file of machine code (.ptx, .cubin, .ll, .bc);"
            " fast.ptx:BLOCK=128 launches that with another configuration.",
        ),
    ],
    target: Annotated[
        Path | None,
        typer.Option(help="The target, where it is not that of a run; goes with --backend."),
    ] = None,
    backend: Backend = AUTO,
    output: Annotated[
        Path | None, typer.Option("--csv", help="Write all figures, comma-separated.")
    ] = None,
    tables: Annotated[
        Path | None,
        typer.Option(
            "--latex",
            help="Write for LaTeX which way to search finds more; for runs of at least two kinds.",
        ),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="Draw how fast the runs found what they found, here.")
    ] = None,
    no_cache: NoCache = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Measure contestants side by side, on train and held-out cases, in one session; with what
    their searches spent, and of runs of several kinds which way to search finds more."""
    for file in (output, tables):
        if file is not None:
            check_new(file, force=force)
    if figures is not None:
        check_figures(figures, ["race"])
    subject = load_subject(*_ground(contestants, target, backend), edits=LARGEST_SET)
    cache = cache_unless(no_cache)
    with scratch_folder() as scratch:
        reader = Reader(subject, scratch / "imported", cores(), cache)
        # Read before the device is opened, so that errors show on any machine.
        entered = [reader.read(word) for word in _each_once(contestants)]
        with (
            # Use one worker: two would disturb each other's timings.
            open_tools(
                subject,
                scratch / "session",
                workers=1,
                jobs=cores(),
                cache=cache,
                isolated=True,
            ) as tools,
            Steps(console) as tell,
        ):
            folder = tools.scratch("baseline")
            baseline = establish(subject, tools.compiler, tools.pool, folder, tools.reference, tell)
            result = compare(tools, entered, baseline, tell)
    if json:
        print_json(record(result))
    print_comparison(console, result)
    files = []
    if output is not None:
        write_new(output, comma_separated(result), force=force)
        files.append(output)
    if tables is not None and result.searches is not None:
        write_new(tables, latex(result.searches) + "\n", force=force)
        files.append(tables)
    elif tables is not None:
        say(console, "no tables for LaTeX: the contestants are not runs of two kinds or more")
    # Two individuals of one run share a search, so drop duplicates.
    found = dict.fromkeys(one.search for one in entered if one.search and one.search.milestones)
    searches = list(found)
    if figures is not None and searches:
        from gi_cuda.report.figures.compare import race
        from gi_cuda.report.figures.drawing import save

        files += save(race(searches), figures, "race")
    elif figures is not None:
        say(console, "no figure: no contestant is a run with finished generations")
    say_written(files)
    _say_next(result)


def _each_once(words: list[str]) -> list[str]:
    """Return the contestants without duplicates, and report each duplicate."""
    once: dict[object, str] = {}
    for word in words:
        run = as_run(word)
        what = (run[0].resolve(), run[1]) if run else word
        if (first := once.setdefault(what, word)) != word:
            say(console, f"{word} is {first}, and measured once")
    return list(once.values())


def _say_next(result: Comparison) -> None:
    """Suggest a patch of the fastest run; without a run, suggest to write the figures."""
    runs = [one for one in result.results if as_run(one.contestant.name) and one.held_out]
    fastest = max(runs, key=lambda one: one.held_out.low if one.held_out else 0.0, default=None)
    run = fastest and as_run(fastest.contestant.name)
    if not run:
        say_next("gi-cuda compare ... --csv FILE", "all figures, comma-separated")
        return
    folder, individual = run
    which = () if individual is None else ("--individual", individual)
    say_next(
        command_line("patch", folder, *which, "-o", "faster.patch"),
        "write the fastest run's winner",
    )


def _ground(words: list[str], target: Path | None, backend: str) -> tuple[Path, str]:
    """Return the target and the back end: as given, or those of the first run."""
    if target is not None:
        return target, resolved(backend)[0]
    runs = [run for word in words if (run := as_run(word)) is not None]
    if not runs:
        if folder := next(filter(isdir, words), None):
            raise no_run(Path(folder))
        raise UserError(
            "no contestant is a run, so the target is not known",
            where="--target",
            hint=f"name the target's folder, --target targets/NAME, or a run; {runs_here()}",
        )
    with open_store(runs[0][0]) as store:
        return stored_target(store, runs[0][0]), store.get("backend")
