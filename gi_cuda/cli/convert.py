"""``gi-cuda convert``: write a target's grammar as two files that can be read and edited."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from gi_cuda.cli.common import Force, TargetPath, check_new, console, write_new
from gi_cuda.grammar import Grammar, convert, read_source, write_bnf, write_scope
from gi_cuda.kernel_names import functions
from gi_cuda.target import load_target


def command(
    target: TargetPath,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Folder for both files; by default the target's."),
    ] = None,
    force: Force = False,
) -> None:
    """Turn the source into a grammar: SOURCE.bnf with its rules, SOURCE.scope with their places."""
    loaded = load_target(target)
    source = read_source(loaded.source)
    grammar = convert(source, functions(loaded.kernels))
    folder = output or loaded.folder
    bnf, scope = folder / f"{source.name}.bnf", folder / f"{source.name}.scope"
    for path in (bnf, scope):  # both or none
        check_new(path, force=force)
    write_new(bnf, write_bnf(grammar), force=force)
    write_new(scope, write_scope(grammar), force=force)
    console.print(summary(grammar))
    console.print(f"wrote {bnf} and {scope}", highlight=False, soft_wrap=True)


def summary(grammar: Grammar) -> Table:
    """Rules by type."""
    table = Table(title="rules", title_justify="left", pad_edge=False, box=SIMPLE_HEAD)
    table.add_column("type")
    table.add_column("number", justify="right")
    for kind, count in Counter(rule.type for rule in grammar.rules).items():
        table.add_row(str(kind), str(count))
    table.add_row("all", str(len(grammar.rules)), style="bold")
    return table
