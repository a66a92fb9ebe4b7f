"""``gi-cuda init``: from a source file to a target folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gi_cuda.cli.console import console
from gi_cuda.init import (
    MARK,
    Proposal,
    check_free,
    files,
    from_database,
    from_options,
    joined,
    propose,
    write_folder,
)
from gi_cuda.report.convert import kept_lines
from gi_cuda.report.tables import say


def command(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A CUDA source file.")],
    kernel: Annotated[
        str | None, typer.Option("--kernel", help="The kernel; needed where there are several.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder; by default targets/KERNEL.")
    ] = None,
    include: Annotated[
        list[Path] | None, typer.Option("-I", help="A folder with headers.", metavar="DIR")
    ] = None,
    define: Annotated[
        list[str] | None, typer.Option("-D", help="A macro.", metavar="NAME[=VALUE]")
    ] = None,
    database: Annotated[
        Path | None,
        typer.Option(
            "--compile-commands", help="Take -I, -D and -std from this compile_commands.json."
        ),
    ] = None,
) -> None:
    """Write a target folder for a kernel: its buffers, launch, parameters and random data.

    The source stays where it is. What only you can know is marked FILL IN."""
    compilation = from_options(include or (), define or ())
    if database is not None:
        compilation = joined(compilation, from_database(database, source))
    if output is not None:
        check_free(output)
    proposal = propose(source, kernel, compilation)
    folder = output or Path("targets") / proposal.name
    texts = files(proposal, folder)
    write_folder(folder, texts)
    for line in report(proposal, folder, texts):
        say(console, line)


def report(proposal: Proposal, folder: Path, texts: dict[str, str]) -> list[str]:
    """What was found, and what is to be done."""
    lines = [f"wrote {folder}: {', '.join(texts)}"]
    others = len(proposal.functions) - 1
    reached = f"{others} function{'' if others == 1 else 's'} that it reaches"
    lines.append(f"kernel {proposal.kernel}, with {reached}")
    if proposal.evolving:
        files = ", ".join(dict.fromkeys(proposal.files.values()))
        lines.append(f"  what evolves stands in {files}")
    lines += kept_lines(proposal.kept)
    origins = proposal.compilation.origins
    lines += [
        f"headers are looked for in {path}: {origins[str(path)]}"
        for path in proposal.compilation.include
        if str(path) in origins
    ]
    lines += [
        f"left out, since the kernel needs nothing of it: {name} ({why})"
        for name, why in proposal.headers.without.items()
    ]
    lines += [f"  {b.name}: {b.shown}, {b.role}" for b in proposal.buffers]
    lines += [f"  {s.name}: {s.element.type}" for s in proposal.scalars]
    offered = [one.name for one in proposal.parameters if not one.active]
    if offered:
        lines.append(f"perhaps parameters (commented out in target.toml): {', '.join(offered)}")
    places = [
        f"{name}:{number}"
        for name, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
        # The words above target.toml say what the mark means.
        if MARK in line and name != "README.md" and (name != "target.toml" or number > 2)
    ]
    lines.append(f"to be filled in or confirmed ({MARK}): {', '.join(places)}")
    lines += [
        f"the host back end has no <{name}>; check this target on a GPU"
        for name in proposal.headers.toolkit
    ]
    return [*lines, f"then: gi-cuda check {folder}"]
