"""``gi-cuda judge``: one verdict on a rewritten kernel."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache as cache_of
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from gi_cuda import AUTO
from gi_cuda.analyze.judge.certificate import Restored, certificate, hashes, restore
from gi_cuda.analyze.judge.judging import Entry, Referee
from gi_cuda.analyze.judge.records import Judged
from gi_cuda.analyze.rewrites.originals import Original, find_original
from gi_cuda.analyze.rewrites.refusals import Refused
from gi_cuda.analyze.rewrites.rewritten import Rewrites
from gi_cuda.analyze.rewrites.tree import Rewrite
from gi_cuda.backends.host.running.isolation import isolation
from gi_cuda.backends.table import backend_named
from gi_cuda.cli.console import console, print_json
from gi_cuda.cli.files import check_new, scratch_folder, write_new
from gi_cuda.cli.next_steps import command_line, say_next
from gi_cuda.cli.options import (
    Backend,
    CompileCommands,
    Force,
    Headers,
    Json,
    Macros,
    NoCache,
    cache_unless,
    chosen_backend,
    cores,
)
from gi_cuda.cli.targets.new_target import NewTarget
from gi_cuda.errors import UserError
from gi_cuda.evaluate.checks.target_files import left_to_confirm, read_files
from gi_cuda.evaluate.reference.baseline import Baseline, establish
from gi_cuda.init import check_free, from_database, from_options, joined
from gi_cuda.report.as_json import as_json
from gi_cuda.report.progress import Steps
from gi_cuda.report.results.judge import print_judged
from gi_cuda.report.tables import say
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.subject import load_subject

DIFFERS = 6
"""Exit status if a repeated certificate yields another verdict."""


def command(
    original: Annotated[
        Path | None,
        typer.Argument(
            metavar="ORIGINAL", help="The file with the kernel, its folder, or a target's folder."
        ),
    ] = None,
    rewritten: Annotated[
        Path | None,
        typer.Argument(
            metavar="REWRITTEN", help="The rewritten file, its folder, or a diff of any form."
        ),
    ] = None,
    application: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND...]", help="With --capture, the application."),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option(help="The target; by default one beside the original, or a new one."),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option("--kernel", help="The kernel, where a target is made.", metavar="NAME"),
    ] = None,
    capturing: Annotated[
        bool,
        typer.Option(
            "--capture",
            help="Make the target of what the application behind -- gives the kernel, on a GPU.",
        ),
    ] = False,
    keep: Annotated[
        Path | None,
        typer.Option(help="Keep the target that is made, in this folder.", metavar="DIR"),
    ] = None,
    backend: Backend = AUTO,
    certificate_file: Annotated[
        Path | None,
        typer.Option(
            "--certificate", help="Write the verdict with all texts, to be repeated anywhere."
        ),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option("--replay", help="Repeat the verdict of a certificate.", metavar="FILE"),
    ] = None,
    include: Headers = None,
    define: Macros = None,
    database: CompileCommands = None,
    no_cache: NoCache = False,
    force: Force = False,
    json: Json = False,
) -> None:
    """Judge a rewritten kernel: faster, slower, same, inconclusive, incorrect, invalid or
    unverified, with reasons.

    Exit status: 0 faster, slower, same; 1 incorrect; 3 invalid; 4 unverified; 5 inconclusive."""
    if certificate_file is not None:
        check_new(certificate_file, force=force)
    if keep is not None:
        check_free(keep, "--keep")
    _refuse_slips(original, rewritten, application, capturing, replay)
    with scratch_folder() as folder, ExitStack() as stack:
        tell = stack.enter_context(Steps(console))
        restored = restore(replay, folder / "restored") if replay is not None else None
        if restored is not None:
            backend = restored.backend if backend == AUTO else backend
            found = Original(restored.source, restored.target)
            words = _Words(restored.original, restored.rewrite.name)
        else:
            assert original is not None
            assert rewritten is not None
            found = find_original(original, rewritten, target)
            words = _Words(str(original), str(rewritten))
        made: list[str] = []
        if found.target is None:
            tell("making a target of the original")
            compilation = from_options(include or (), define or ())
            if database is not None:
                compilation = joined(compilation, from_database(database, found.source))
            place = keep or folder / "target"
            (folder / "making").mkdir()
            new = NewTarget(found.source, kernel, compilation, place, folder / "making")
            if application:
                made = new.captured(application, tell)
            else:
                made = new.proposed(cache_unless(no_cache), tell)
            found = replace(found, target=place)
        judged, text = _judged(
            found,
            words,
            restored,
            rewritten,
            made,
            chosen_backend(backend),
            no_cache,
            folder,
            tell,
            certify=certificate_file is not None,
        )
    if certificate_file is not None:
        write_new(certificate_file, text + "\n", force=force)
    if json:
        print_json(judged)
    print_judged(console, judged)
    if certificate_file is not None:
        say(console, f"wrote {certificate_file}")
        say_next(command_line("judge", "--replay", certificate_file), "repeat it")
    if restored is not None:
        _say_replayed(restored, judged)
    raise typer.Exit(judged.exit_status)


@dataclass(frozen=True, slots=True)
class _Words:
    """The user's names of the original and the rewrite."""

    original: str
    rewritten: str


def _refuse_slips(
    original: Path | None,
    rewritten: Path | None,
    application: list[str] | None,
    capturing: bool,
    replay: Path | None,
) -> None:
    if replay is not None and (original or rewritten):
        raise UserError(
            "a certificate has original and rewrite in it",
            where="--replay",
            hint=f"leave them out: {command_line('judge', '--replay', replay)}",
        )
    if replay is None and rewritten is None:
        raise UserError(
            "it takes the original and the rewritten kernel",
            where="judge ORIGINAL REWRITTEN",
            hint="gi-cuda judge old.cu new.cu; or a folder, or a diff, in the place of each",
        )
    if capturing and not application:
        raise UserError(
            "no application is named",
            where="--capture",
            hint="gi-cuda judge old.cu new.cu --capture -- ./app ARGUMENTS",
        )
    if application and not capturing:
        raise UserError(
            "one original and one rewrite are judged at a time",
            where=application[0],
            hint="several rewrites of one kernel: gi-cuda compare --target DIR REWRITE...;"
            " an application: --capture -- COMMAND",
        )


def _judged(
    found: Original,
    words: _Words,
    restored: Restored | None,
    rewritten: Path | None,
    made: list[str],
    backend: str,
    no_cache: bool,
    folder: Path,
    tell: Callable[[str], None],
    *,
    certify: bool,
) -> tuple[Judged, str]:
    """Return the verdict, and its certificate as JSON; "" if `certify` is False."""
    begun = time.monotonic()
    assert found.target is not None
    tell("reading the target, the original and the rewrite")
    subject = load_subject(found.target, backend)
    rewrites = Rewrites(subject, folder / "rewrites", found.folder)
    rewrite: Rewrite
    if restored is not None:
        rewrite = restored.rewrite
    else:
        assert rewritten is not None
        rewrite = rewrites.changes(rewritten)
    target = subject.target
    entry = Entry(
        words.original,
        words.rewritten,
        rewrite.kind,
        None,
        guessed=(*made, *_assumed(read_files(target))),
        hashes=hashes(target, rewrites.tree, rewrite),
        isolation="" if backend_named(backend).gpu else isolation(),
    )
    try:
        one = rewrites.of(rewrite)
        entry = replace(entry, candidate=one.candidate, launches=one.notes)
    except Refused as error:
        entry = replace(entry, refusal=error.refusal)
    cache = cache_unless(no_cache)
    with open_tools(
        subject, folder / "session", workers=1, jobs=cores(), cache=cache, isolated=True
    ) as tools:
        judged = Referee(tools, cache_of(partial(_baseline, tools, tell)), tell).judge(entry)
    judged = replace(judged, seconds=time.monotonic() - begun)
    if not certify:
        return judged, ""
    kept = certificate(judged, target, rewrites.tree, rewrite, rewrites.hosts)
    return judged, as_json(kept)


def _baseline(tools: Tools, tell: Callable[[str], None]) -> Baseline:
    place = tools.scratch("baseline")
    # One copy is enough: the noise is measured again, beside the rewrite.
    return establish(
        tools.subject, tools.compiler, tools.pool, place, tools.reference, tell, copies=1
    )


def _assumed(texts: dict[Path, str]) -> list[str]:
    """Return the places of a target that are marked as assumed, with names of files instead of
    paths.
    """
    return [one.removeprefix(f"{path.parent}/") for path in texts for one in _of(path, texts[path])]


def _of(path: Path, text: str) -> Iterator[str]:
    return left_to_confirm({path: text})


def _say_replayed(restored: Restored, judged: Judged) -> None:
    """Report whether a repeated verdict equals the certificate's; exit if it does not."""
    differing = [
        case for case, known in restored.inputs.items() if judged.hashes.inputs.get(case) != known
    ]
    if differing:
        say(console, f"the inputs are others than certified: {', '.join(differing)}")
    if judged.status is restored.status:
        say(console, f"replayed: the verdict is the same, {judged.status}")
        return
    say(
        console, f"replayed: the certificate says {restored.status}, and it is {judged.status} here"
    )
    raise typer.Exit(DIFFERS)
