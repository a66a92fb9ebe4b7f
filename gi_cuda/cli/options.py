"""Options that several verbs take, and what is refused of them."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from gi_cuda import BACKENDS
from gi_cuda.backends import cores as cores
from gi_cuda.backends.compile.code_cache import CodeCache, open_cache
from gi_cuda.cli.console import aside
from gi_cuda.errors import UserError
from gi_cuda.grammar import EDIT_SETS

MOST = 1_000_000
"""Variants at most that may be asked for at a time: so many are in memory together."""

MOST_AT_ONCE = 1024
"""Processes at most that may be asked for."""

LARGEST = 2**31 - 1
"""Other numbers are not larger; the database could not take one of over 64 bits."""

TargetPath: TypeAlias = Annotated[
    Path, typer.Argument(metavar="TARGET", help="A target's folder, or its target.toml.")
]
RunPath: TypeAlias = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")]
Backend: TypeAlias = Annotated[
    str,
    typer.Option(
        "--backend", help=f"Where variants are compiled and executed: {' or '.join(BACKENDS)}."
    ),
]
Bnf: TypeAlias = Annotated[
    Path | None, typer.Option("--bnf", help="A grammar edited by hand, instead of the source's.")
]
Scope: TypeAlias = Annotated[
    Path | None, typer.Option("--scope", help="The scopes that belong to --bnf.")
]
Edits: TypeAlias = Annotated[
    str,
    typer.Option(
        "--edits",
        help="What may change: paper (the nine rule types of the paper) or full (operands, "
        "right-hand sides and parts of conditions as well).",
    ),
]
Level: TypeAlias = Annotated[
    str,
    typer.Option(
        "--level",
        help="What evolves: source, or ptx (what nvcc makes of the source's default"
        " configuration).",
    ),
]
IndividualNumber: TypeAlias = Annotated[
    int | None,
    typer.Option("--individual", max=LARGEST, help="This individual instead of the winner."),
]
AsFound: TypeAlias = Annotated[
    bool, typer.Option("--as-found", help="As the search found it, even if it was minimized.")
]
FiguresFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option("--figures", help="Folder for the figures; by default `figures` in the run."),
]
Workers: TypeAlias = Annotated[
    int,
    typer.Option(
        "--workers", min=0, max=MOST_AT_ONCE, help="Measurements at a time; 0: as many as fit."
    ),
]
Jobs: TypeAlias = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", min=0, max=MOST_AT_ONCE, help="Compilers at a time; 0: one per core."
    ),
]
NoCache: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--no-cache", help="Compile everything anew, and keep nothing of it for other commands."
    ),
]
InApplication: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--application",
        help="Apply it to copies of the application that [application] of target.toml describes,"
        " build and run them, and measure the whole program before and after.",
    ),
]
Json: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--json",
        callback=aside,
        help="Print what was found as JSON (docs/reference/json.md), all else on standard error.",
    ),
]
Force: TypeAlias = Annotated[bool, typer.Option("--force", help="Overwrite what is there.")]


def cache_unless(refused: bool) -> CodeCache | None:
    """The user's cache of compiled code; None where it is not wanted.

    Raises:
        UserError: the size that it may have is none.
    """
    return None if refused else open_cache(_complain)


def _complain(said: str) -> None:
    print(f"gi-cuda: {said}; going on without it", file=sys.stderr)


def check_choice(option: str, value: str, choices: Collection[str], what: str = "") -> str:
    """A value that an option takes.

    Args:
        what: the kind of thing that is chosen, in words; "" where it has no name.

    Raises:
        UserError: it is none of the choices.
    """
    if value not in choices:
        said = f"there is no {what} {value!r}" if what else f"{option} does not take {value!r}"
        raise UserError(said, where=option, hint=f"one of: {', '.join(choices)}")
    return value


def check_backend(name: str) -> str:
    """The back end's name, if there is such a back end."""
    return check_choice("--backend", name, BACKENDS, "back end")


def check_edits(name: str) -> str:
    """The name of a set of rule types, if there is such a set."""
    return check_choice("--edits", name, EDIT_SETS, "set of edits")
