"""``gi-cuda doctor``: what is there to compile and run variants with, and what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from gi_cuda import BACKENDS
from gi_cuda.backends.protocol.backend import Examined
from gi_cuda.backends.table import backend_named
from gi_cuda.cli.console import console, print_json
from gi_cuda.cli.next_steps import say_next
from gi_cuda.cli.options import Json
from gi_cuda.report.as_json import FoundTools
from gi_cuda.report.tables import print_table, say


def command(json: Json = False) -> None:
    """Say what was found of compilers, driver, devices and tools, and how to install the rest.

    Ends with status 0 if at least one back end can be used, else with 1."""
    findings = {name: list(backend_named(name).examine()) for name in BACKENDS}
    usable = usable_backends(findings)
    print_table(console, table(findings))
    for name in findings:
        word = "ready" if name in usable else "not usable: see above"
        say(console, f"backend {name}: {word}")
    if json:
        print_json(FoundTools(findings, usable))
    if not usable:
        raise typer.Exit(1)
    say_next("gi-cuda init FILE.cu", "a target of your kernel; --example NAME copies one")


def usable_backends(findings: Mapping[str, Sequence[Examined]]) -> list[str]:
    """The back ends that miss nothing they need, of those that were looked at."""
    missed = {
        name: [one for one in looked if one.found is None and not one.optional]
        for name, looked in findings.items()
    }
    return [name for name, missing in missed.items() if not missing]


def table(findings: Mapping[str, Sequence[Examined]]) -> Table:
    """What was found for each back end: what is there, or what to do about it."""
    rows = Table(pad_edge=False, box=SIMPLE_HEAD)
    for title in ("", "for", "found"):
        rows.add_column(title, overflow="fold")
    for name, looked in findings.items():
        for one in looked:
            # Text, since messages may hold what looks like markup.
            said = one.found or f"missing: {one.hint}"
            rows.add_row(one.what, "optional" if one.optional else name, Text(said))
    return rows
