"""``gi-cuda convert``: write a target's grammar to two files that can be read and edited."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from gi_cuda.cli.console import console
from gi_cuda.cli.files import check_new, say_written, write_new
from gi_cuda.cli.next_steps import command_line, say_next
from gi_cuda.cli.options import Edits, Force, Level
from gi_cuda.errors import UserError
from gi_cuda.evaluate.levels import backends_for, check_level, compiled_subject
from gi_cuda.genome import Space
from gi_cuda.grammar import EDIT_SETS, Rules, Wanted, convert, front_end, read_files
from gi_cuda.grammar.frontends.cuda.rules.statement_account import account
from gi_cuda.grammar.presence import ANY
from gi_cuda.report.tables import print_table, say
from gi_cuda.report.targets.convert import (
    edits_table,
    kept_lines,
    lines_table,
    share_table,
    single_edits_table,
)
from gi_cuda.spec import load_target, usual_arguments
from gi_cuda.spec.launching.usual import Usual
from gi_cuda.subject import load_subject


def command(
    target: Annotated[
        Path,
        typer.Argument(
            metavar="TARGET", help="A target's folder, its target.toml, or a CUDA source file."
        ),
    ],
    kernel: Annotated[
        list[str] | None,
        typer.Option("--kernel", help="Of a source file: a kernel to evolve; by default all."),
    ] = None,
    edits: Edits = "paper",
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Write no files; say for each line what rule it is, or why it is fixed.",
        ),
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for both files; by default the target's."),
    ] = None,
    level: Level = "source",
    force: Force = False,
) -> None:
    """Turn the source into a grammar: SOURCE.bnf with its rules, SOURCE.scope with their places.

    With --level ptx or llvm, write the PTX or LLVM-IR of a target and its .bnf.
    """
    if check_level(level).compiled:
        _convert_compiled(target, level, kernel, output, explain=explain, force=force)
        say_next(command_line("evolve", target, "--level", level), "search")
        return
    asked = _asked(target, kernel)
    language = front_end("source", asked.path.suffix)
    wanted = Wanted(asked.kernels, EDIT_SETS[edits])
    if explain:
        _explain(asked, wanted)
        say_next(*asked.next)
        return
    assert language.load is not None, "no compiler makes a target's source"
    source = language.load(asked.path, asked.headers, asked.include)
    source = replace(source, usual=asked.usual)
    program = language.read(source, wanted)
    wrote = _write(output or asked.folder, source.name, program.notation(), force)
    print_table(console, _edits(program.grammar, asked))
    say_written(wrote)
    if asked.target is None:
        say_next(*asked.next)
    else:
        bnf, scope = map(os.path.relpath, wrote)
        line = command_line("evolve", asked.target, "--bnf", bnf, "--scope", scope)
        say_next(line, "once you have edited them; without, it makes them itself")


def _explain(asked: _Asked, wanted: Wanted) -> None:
    """Print for each line of a CUDA source its rule, or the reason why it is fixed."""
    joined = read_files(asked.path, asked.headers, asked.include)
    source = replace(joined.source, usual=asked.usual)
    grammar = convert(source, wanted.kernels, wanted.types)
    parts = account(source, wanted.kernels, wanted.types, asked.every)
    width = console.width if console.is_terminal else None
    print_table(console, lines_table(grammar, parts, width))
    print_table(console, _edits(grammar, asked))
    print_table(console, share_table(parts))
    for line in kept_lines(joined.kept):
        say(console, line)


def _edits(grammar: Rules, asked: _Asked) -> Table:
    return edits_table(grammar, grammar.under_any(asked.every), grammar.under(asked.default))


def _convert_compiled(
    path: Path,
    level: str,
    kernels: list[str] | None,
    output: Path | None,
    *,
    explain: bool,
    force: bool,
) -> None:
    if kernels or explain or (path.is_file() and path.suffix != ".toml"):
        raise UserError(
            f"{front_end(level).name} is made of a target, without --kernel and --explain",
            where=f"--level {level}",
            hint="name a target; `gi-cuda init` makes one of a source",
        )
    backend = backends_for(front_end(level))[0]
    subject = compiled_subject(load_subject(path, backend), level)
    source = subject.grammar.source
    folder = output or subject.target.folder
    wrote = _write(folder, source.name, {"": source.text, **subject.parsed.notation()}, force)
    print_table(console, single_edits_table(subject.grammar))
    functions = len({rule.function for rule in subject.grammar.rules})
    loops = len(subject.grammar.loops)
    say(console, f"functions: {functions}, loops: {loops}")
    say_written(wrote)


def _write(folder: Path, name: str, texts: Mapping[str, str], force: bool) -> list[Path]:
    """Write files, all or none.

    Args:
        texts: text of each file, by the suffix that is added to the name.
    """
    files = {folder / f"{name}{ending}": text for ending, text in texts.items()}
    for file in files:
        check_new(file, force=force)
    for file, text in files.items():
        write_new(file, text, force=force)
    return list(files)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request to convert: files, kernels, macros and the output folder.

    Attributes:
        default: macros of the default configuration.
        every: macros of all configurations; ``ANY`` if they differ.
        usual: integer arguments that kernels usually get.
        target: path of the target as given; None for a source file.
    """

    path: Path
    headers: Sequence[Path]
    include: Sequence[Path]
    kernels: Sequence[str] | None
    default: Mapping[str, str]
    every: Mapping[str, str]
    folder: Path
    usual: Usual = ()
    target: Path | None = None

    @property
    def next(self) -> tuple[str, str]:
        """The command that comes next, and its purpose."""
        if self.target is None:
            return command_line("init", self.path), "a target of it"
        return command_line("evolve", self.target), "search"


def _asked(path: Path, kernels: list[str] | None) -> _Asked:
    if path.is_file() and path.suffix != ".toml":
        return _Asked(path, (), (), kernels, {}, {}, path.parent)
    if kernels:
        raise UserError(
            "a target names its kernels itself",
            where="--kernel",
            hint="leave --kernel out, or name the source file instead of the target",
        )
    target = load_target(path)
    default = Space.from_target(target).default.macros
    every = {**default, **dict.fromkeys((one.name for one in target.parameters), ANY)}
    include, folder, usual = target.build.include, target.folder, usual_arguments(target)
    return _Asked(
        target.source, target.headers, include, target.kernels, default, every, folder, usual, path
    )
