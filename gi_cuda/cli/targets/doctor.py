"""``gi-cuda doctor``: list the tools for compiling and running variants, and those that are
missing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from gi_cuda import BACKENDS
from gi_cuda.backends.protocol.backend import Examined
from gi_cuda.backends.table import backend_named
from gi_cuda.cli.console import console, print_json
from gi_cuda.cli.next_steps import say_next
from gi_cuda.cli.options import Json
from gi_cuda.report.as_json import FoundTools
from gi_cuda.report.tables import WIDEST, say, say_whole


def command(
    cache: Annotated[
        bool,
        typer.Option(
            "--cache", help="Instead, what is kept of compiled variants; --clear empties it."
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Say what was found of compilers, driver, devices and tools, and how to install the rest.

    Ends with status 0 if at least one back end can be used, else with 1."""
    del cache  # handled by gi_cuda.cli.targets.cache
    findings = {name: list(backend_named(name).examine()) for name in BACKENDS}
    usable = usable_backends(findings)
    for line in lines(findings, console.width if console.is_terminal else WIDEST):
        say_whole(console, line)
    console.print()
    for name in findings:
        word = "ready" if name in usable else "not usable: see above"
        say(console, f"backend {name}: {word}")
    if json:
        print_json(FoundTools(findings, usable))
    if not usable:
        raise typer.Exit(1)
    say_next("gi-cuda init FILE.cu", "a target of your kernel; --example NAME copies one")


def usable_backends(findings: Mapping[str, Sequence[Examined]]) -> list[str]:
    """Return the back ends that lack no required tool."""
    missed = {
        name: [one for one in looked if one.found is None and not one.optional]
        for name, looked in findings.items()
    }
    return [name for name, missing in missed.items() if not missing]


def lines(findings: Mapping[str, Sequence[Examined]], width: int) -> list[str]:
    """Describe the tools of each back end in lines of a width.

    A missing tool is shown with its remedy. Paths are never broken, so that they can be copied.
    """
    rows = [("", "for", "found")]
    for name, looked in findings.items():
        for one in looked:
            said = one.found or f"missing: {one.hint}"
            rows.append((one.what, "optional" if one.optional else name, said))
    first, second = (max(len(row[at]) for row in rows) for at in (0, 1))
    return [
        textwrap.fill(
            said,
            width,
            initial_indent=f" {what:{first}}  {purpose:{second}}  ",
            subsequent_indent=" " * (first + second + 5),
            break_long_words=False,
            break_on_hyphens=False,
        )
        for what, purpose, said in rows
    ]
