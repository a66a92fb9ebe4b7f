"""``gi-cuda patch``: a run's winner as a patch that a maintainer can apply."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gi_cuda.cli.common import (
    AsFound,
    Force,
    IndividualNumber,
    RunPath,
    check_choice,
    check_new,
    console,
    read_numbers,
    write_new,
)
from gi_cuda.errors import UserError

if TYPE_CHECKING:
    from gi_cuda.upstream.ptx_module import PtxModule

FORMATS = ("diff", "mail", "ptx")
CONFIGURATIONS = ("defaults", "separate")


def command(
    run: RunPath,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File for the patch; by default stdout.")
    ] = None,
    individual: IndividualNumber = None,
    as_found: AsFound = False,
    format: Annotated[
        str,
        typer.Option(
            "--format",
            help="diff, for git apply; mail, for git am; or ptx, the module of a run on PTX.",
        ),
    ] = "diff",
    edits: Annotated[
        str | None,
        typer.Option(help="Only these changes, by their numbers in `minimize`, e.g. 1,3-5."),
    ] = None,
    configuration: Annotated[
        str,
        typer.Option(
            help="Changed values as new defaults in the same patch (defaults), or in a patch of"
            " their own that comes first (separate)."
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
    sender: Annotated[
        str | None,
        typer.Option("--from", help='Sender of the mail, "Name <address>"; by default git knows.'),
    ] = None,
    force: Force = False,
) -> None:
    """Write the winner as a patch of the original file, after building and verifying just that
    file: no loop guards, changed configuration values as the source's own defaults.

    Of a run on PTX, write the winner's whole PTX."""
    from gi_cuda.analyze.winner import choose_individual
    from gi_cuda.runs.run import open_run
    from gi_cuda.upstream.letters import mails
    from gi_cuda.upstream.ptx_module import ptx_module
    from gi_cuda.upstream.steps import in_one, steps
    from gi_cuda.upstream.submission import submit

    if output is not None:
        check_new(output, force=force)
    check_choice("--format", format, FORMATS)
    check_choice("--configuration", configuration, CONFIGURATIONS)
    if format == "ptx":
        _refuse("--check", given=check)
        _refuse("--from", given=sender is not None)
        _refuse("--configuration", given=configuration != "defaults")
    with open_run(run) as opened:
        winner = choose_individual(opened.store, opened.subject, run, individual, as_found=as_found)
        changed = winner.changes(opened.subject)
        chosen = read_numbers(edits, len(changed.changes)) if edits else changed.all
        if format == "ptx":
            with console.status("validating the PTX"):
                module = ptx_module(opened, winner, changed.having(chosen))
            _write_module(module, output, force=force)
            return
        parts = steps(opened.source, changed, chosen)
        if configuration == "defaults":
            parts = in_one(parts)
        files = _files(output, len(parts), format)
        for file in files:
            check_new(file, force=force)
        with console.status("building and validating the patched file"):
            submission = submit(opened, winner, parts, check=check)
            head = f"Measured by gi-cuda on {submission.device}.\n\n"
            texts = [head + part.diff for part in submission.parts]
            if format == "mail":
                texts = mails(opened, run, submission, sender)
                if check:
                    submission.check_mails(opened.source, texts)
    said = [submission.verdict]
    if check:
        said.append(submission.checked)
    if submission.outside:
        said.append(f"not part of the source, and needed for this: {'; '.join(submission.outside)}")
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write("".join(texts).encode("utf-8", "surrogateescape"))
        sys.stdout.buffer.flush()
        print("\n".join(said), file=sys.stderr)
        return
    if len(files) < len(texts):
        texts = ["".join(texts)]
    for file, text in zip(files, texts, strict=True):
        write_new(file, text, force=force)
    for line in said:
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    for file in files:
        console.print(f"wrote {file}", highlight=False, soft_wrap=True, markup=False)


def _refuse(option: str, *, given: bool) -> None:
    """Refuse an option that has no meaning for PTX."""
    if given:
        raise UserError(
            f"{option} is about patches of source", where=option, hint="leave it out for PTX"
        )


def _write_module(module: PtxModule, output: Path | None, *, force: bool) -> None:
    if output is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(module.text.encode("utf-8", "surrogateescape"))
        return
    write_new(output, module.text, force=force)
    console.print(module.verdict, highlight=False, soft_wrap=True, markup=False)
    if not module.own_names:
        console.print(
            "its names are those of a namespace v0: on its own, nvcc makes other code of the source"
        )
    console.print(f"wrote {output}", highlight=False, soft_wrap=True, markup=False)


def _files(output: Path | None, number: int, format: str) -> list[Path]:
    """Where the patches go. A series of mails is one file; diffs each have a file of their own."""
    if output is None:
        return []
    if number < 2 or format == "mail":
        return [output]
    first = output.with_name(f"{output.stem}.configuration{output.suffix}")
    return [first, output]
