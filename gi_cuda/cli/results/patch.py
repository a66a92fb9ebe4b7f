"""``gi-cuda patch``: write a run's winner as a patch that a maintainer can apply."""

from __future__ import annotations

import os
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from gi_cuda.analyze.finalists.winner import choose_individual
from gi_cuda.backends.table import backend_named
from gi_cuda.cli.console import console, working
from gi_cuda.cli.files import check_new, say_written, write_new
from gi_cuda.cli.next_steps import command_line, say_next, say_next_aside, search_further
from gi_cuda.cli.options import (
    AsFound,
    Force,
    InApplication,
    IndividualNumber,
    MovedTarget,
    NoCache,
    RunPath,
    cache_unless,
    choice,
    follow,
)
from gi_cuda.cli.results.application import judged_by_application
from gi_cuda.errors import UserError
from gi_cuda.report.progress import Steps
from gi_cuda.report.tables import say
from gi_cuda.results.application import ApplicationResult
from gi_cuda.results.evaluation import Validation
from gi_cuda.runs.run import open_run
from gi_cuda.subject import Subject
from gi_cuda.subject.diffs import patch_root
from gi_cuda.upstream.application import check_application
from gi_cuda.upstream.application_copy import APPENDED
from gi_cuda.upstream.letters import Drafts, draft
from gi_cuda.upstream.ptx_module import ptx_module
from gi_cuda.upstream.steps import compiler_options, in_one, steps
from gi_cuda.upstream.submission import Submission, submit

FORMATS = ("diff", "mail", "ptx")
CONFIGURATIONS = ("defaults", "separate")


def command(  # typer makes an option of each parameter
    run: RunPath,
    target: MovedTarget = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File for the patch; by default stdout.")
    ] = None,
    individual: IndividualNumber = None,
    as_found: AsFound = False,
    format: Annotated[
        str,
        choice(
            "--format",
            FORMATS,
            "diff, for git apply; mail, for git am; or ptx, the module of a run on PTX or LLVM-IR.",
        ),
    ] = "diff",
    chosen: Annotated[
        str | None,
        typer.Option(
            "--changes", help="Only these changes, by their numbers in `minimize`, e.g. 1,3-5."
        ),
    ] = None,
    configuration: Annotated[
        str,
        choice(
            "--configuration",
            CONFIGURATIONS,
            "Changed values as new defaults in the same patch (defaults), or in a patch of"
            " their own that comes first (separate).",
        ),
    ] = "defaults",
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Apply it with git in a scratch copy, and build and validate what git"
            " made of the file.",
        ),
    ] = False,
    application: InApplication = False,
    sender: Annotated[
        str | None,
        typer.Option(
            "--sender", help='Sender of the mail, "Name <address>"; by default git knows.'
        ),
    ] = None,
    no_cache: NoCache = False,
    force: Force = False,
) -> None:
    """Write the winner as a patch of the original file, after building and verifying just that
    file: no loop guards, changed configuration values as the source's own defaults.

    Of a run on PTX or LLVM-IR, write the winner's whole PTX.
    Exit status 1, and nothing is written, where the file is not certainly faster."""
    follow(run, target)
    if output is not None:
        check_new(output, force=force)
    if format == "ptx":
        _refuse("--check", given=check)
        _refuse("--application", given=application)
        _refuse("--sender", given=sender is not None)
        _refuse("--configuration", given=configuration != "defaults")
    with open_run(run, cache_unless(no_cache)) as opened:
        winner = choose_individual(opened.store, opened.subject, run, individual, as_found=as_found)
        subject = opened.subject
        changed = winner.changes(subject)
        wanted = read_numbers(chosen, len(changed.changes)) if chosen else changed.all
        if format == "ptx":
            files = [] if output is None else [output]
            with working("validating the PTX"):
                module = ptx_module(opened, winner, changed.having(wanted))
            texts, said = [module.text], list(module.said)
        else:
            if application:
                check_application(opened.source.target)
            parts = steps(opened.source, changed, wanted)
            parts = in_one(parts) if configuration == "defaults" else parts
            files = _files(output, len(parts), format)
            for file in files:
                check_new(file, force=force)
            with Steps(console) as tell:
                submission = submit(opened, winner, parts, check=check, tell=tell)
            ready = _Ready(opened.source, submission, draft(opened, submission, sender), check)
        worth = module.validation if format == "ptx" else submission.parts[-1].validation
    if not worth.faster and not force:
        _give_up(worth, subject, run)
    if format != "ptx":
        if not parts[-1].changes_source:
            _say_options(ready, application=application)
            return
        texts, said = ready.finished(format, application=application)
    if output is None:
        _print_patches(texts, said)
    else:
        _write_patches(files, texts, said, force=force)
    say_then = say_next_aside if output is None else say_next
    say_then(*_next(run, subject, worth, format, files))


def _give_up(worth: Validation, subject: Subject, run: Path) -> NoReturn:
    """Exit with status 1 because a patch is not certainly faster; nothing is written."""
    on = "" if backend_named(subject.backend).gpu else " on a CPU"
    line = f"not faster{on}: speed-up {worth.overall} includes 1; do not apply. Nothing is written"
    print(f"gi-cuda: {line} (--force writes it)", file=sys.stderr)
    say_next_aside(*search_further(run))
    raise typer.Exit(1)


def _next(
    run: Path, subject: Subject, worth: Validation, format: str, files: list[Path]
) -> tuple[str, str]:
    """Return the next command and its purpose."""
    if not worth.faster:
        return search_further(run)
    if format == "ptx":
        line = command_line("compare", run, *files, "--backend", subject.backend)
        return line, "side by side with others"
    if not files:
        words = (
            ["--format", "mail", "-o", "faster.mbox"]
            if format == "mail"
            else ["-o", "faster.patch"]
        )
        return command_line("patch", run, *words), "write it to a file"
    if not backend_named(subject.backend).gpu:
        # `compare` cannot apply the diffs of a series one after the other.
        what = [run] if len(files) > 1 else files
        line = command_line(
            "compare", *what, "--target", subject.target.folder, "--backend", "cuda"
        )
        return line, "measure it on a GPU; its speed on a CPU says nothing of that"
    root = os.path.relpath(patch_root(subject.grammar.source, subject.target.source))
    patches = [os.path.relpath(file, root) for file in files]
    there = [] if root == os.curdir else ["-C", root]
    words = ["git", *there, "am" if format == "mail" else "apply", *patches]
    return shlex.join(words), "apply it: its paths start there" if there else "apply it"


def _write_patches(files: list[Path], texts: list[str], said: list[str], *, force: bool) -> None:
    """Write patches to files, and messages about them to standard output."""
    for file, text in zip(files, texts, strict=True):
        write_new(file, text, force=force)
    for line in said:
        say(console, line)
    say_written(files)


def _print_patches(texts: list[str], said: list[str]) -> None:
    """Write patches to standard output byte by byte, and messages about them to standard error."""
    sys.stdout.flush()
    sys.stdout.buffer.write("".join(texts).encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()
    print("\n".join(said), file=sys.stderr)


def read_numbers(text: str, count: int) -> frozenset[int]:
    """Return the positions, from 0, of the changes in a list such as ``1,3-5``, which counts from
    1.

    Raises:
        UserError: the text is not a list of numbers, or a change does not exist.
    """
    found: set[int] = set()
    for word in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", word)
        if match is None:
            raise UserError(
                f"{word.strip()!r} is not a number or a range", where="--changes", hint="e.g. 1,3-5"
            )
        first = int(match[1])
        last = int(match[2] or first)
        for number in (first, last):
            if not 1 <= number <= count:
                raise UserError(
                    f"there is no change {number}",
                    where="--changes",
                    hint=f"they are 1 to {count}; gi-cuda explain lists them",
                )
        found |= set(range(first - 1, last))
    return frozenset(found)


def _refuse(option: str, *, given: bool) -> None:
    """Refuse an option that is meaningless for PTX."""
    if given:
        raise UserError(
            f"{option} is about patches of source", where=option, hint="leave it out for PTX"
        )


def _files(output: Path | None, number: int, format: str) -> list[Path]:
    """Return the files of the patches: one for a series of mails, one for each diff."""
    if output is None:
        return []
    if number < 2 or format == "mail":
        return [output]
    first = output.with_name(f"{output.stem}.configuration{output.suffix}")
    return [first, output]


@dataclass(frozen=True, slots=True)
class _Ready:
    """Patches that were built and validated. The run is closed, so no worker uses the device.

    Attributes:
        source: the subject that they are patches of.
        check: whether git has to accept them, also as mails.
    """

    source: Subject
    submission: Submission
    drafts: Drafts
    check: bool

    def finished(self, format: str, *, application: bool) -> tuple[list[str], list[str]]:
        """Return the text of each file, and messages about them.

        Args:
            application: whether to judge the patches by the application, too.

        Raises:
            UserError: the application rejects the patches, or git rejects a mail.
        """
        result = self.in_application() if application else None
        said = [*self.submission.said(checked=self.check), *(result.lines() if result else ())]
        if format == "diff":
            head = f"Measured by gi-cuda on {self.submission.device}.\n\n"
            return [head + part.diff for part in self.submission.parts], said
        mails = self.drafts.mails(result)
        if self.check:
            self.submission.check_mails(self.source, mails)
        return ["".join(mails)], said

    def in_application(self) -> ApplicationResult:
        """Return the application's result with the patches.

        Raises:
            UserError: the application rejects the patches.
        """
        submission = self.submission
        parts = [part.step for part in submission.parts]
        result = judged_by_application(self.source, parts)
        if result.fault:
            raise UserError(
                f"the application speaks against the patch: {result.fault}",
                where=f"{submission.winner}: {parts[-1].genotype}",
                hint="it is not written; choose another with --individual (gi-cuda show lists the"
                " best), or some of its changes with --changes",
            )
        return result


def _say_options(ready: _Ready, *, application: bool) -> None:
    """Print the compiler options of a winner that changes nothing else, for which there is no
    patch.
    """
    submission = ready.submission
    genotype = submission.parts[-1].step.genotype
    options = shlex.join(compiler_options(ready.source, genotype))
    result = ready.in_application() if application else None
    for line in (*submission.said(checked=False), *(result.lines() if result else ())):
        say(console, line)
    say(console, f"{submission.winner} changes nothing in the source, so no patch is written")
    line = f"{APPENDED}={shlex.quote(options)} make"
    say_next(line, f"compile with {options}: in the build file, or as here by nvcc's own variable")
