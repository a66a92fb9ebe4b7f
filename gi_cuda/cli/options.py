"""Options that several commands share, and their checks."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from gi_cuda import AUTO, BACKENDS
from gi_cuda.backends import cores as cores
from gi_cuda.backends.compile.caching.code_cache import CodeCache, open_cache
from gi_cuda.backends.table import ALL, backend_named, resolved
from gi_cuda.cli.console import aside
from gi_cuda.errors import RUN_FILE, TARGET_FILE, UserError, folders_with
from gi_cuda.grammar import EDIT_SETS, LEVELS

MOST = 1_000_000
"""Largest number of variants that an option accepts; all of them are in memory at once."""

MOST_AT_ONCE = 1024
"""Largest number of processes that an option accepts."""

LARGEST = 2**31 - 1
"""Largest value of other numbers; the database cannot store more than 64 bits."""


def choice(
    option: str, choices: Collection[str], help: str, what: str = "", variable: str | None = None
) -> Any:
    """Return an option that takes one of several values, named in its help, completion and errors.

    Args:
        what: the kind of thing that is chosen, for messages; "" for none.
        variable: environment variable that holds the value if the option is not given.
    """

    def checked(context: typer.Context, value: str | None) -> str | None:
        # During completion the value may be incomplete.
        if value is None or context.resilient_parsing:
            return value
        return check_choice(option, value, choices, what)

    return typer.Option(
        option,
        metavar=f"[{'|'.join(choices)}]",
        help=help,
        envvar=variable,
        show_envvar=False,
        callback=checked,
        autocompletion=lambda: list(choices),
    )


_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def read_time(text: str | float) -> float:
    """Return the seconds for a time such as ``90``, ``40s``, ``10m`` or ``1.5h``.

    Raises:
        UserError: the text is not a time.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh]?)", str(text).strip())
    if match is None:
        raise UserError(
            f"{text} is not a time", where="--time", hint="e.g. 90 (seconds), 40s, 10m or 1h"
        )
    return float(match[1]) * _UNITS[match[2]]


_VARIABLE = "GI_CUDA_BACKEND"
"""Environment variable that names the back end if ``--backend`` is not given."""


def default_backend() -> str:
    """Return the value of ``--backend`` if it is not given."""
    return os.environ.get(_VARIABLE, AUTO)


def chosen_backend(asked: str) -> str:
    """Return the back end for ``--backend``.

    If the CPU is used because no GPU can be, the reason is printed on standard error.
    """
    name, why = resolved(asked)
    if why:
        said = "variants run on the CPU, and its times say nothing about a GPU's"
        print(f"{said}: {why}", file=sys.stderr)
    return name


def _completing(file: str) -> Callable[[str], list[str]]:
    """Return a completion function for folders that hold a file."""

    def complete(incomplete: str) -> list[str]:
        typed = Path(incomplete)
        inside = typed if incomplete.endswith("/") else typed.parent
        found = folders_with(file, Path(), Path("runs"), Path("targets"), inside)
        others = [f"{one}/" for one in sorted(inside.glob("*")) if one.is_dir()]
        known = [one for one in found if one.startswith(incomplete) and one != "."]
        return known or [one for one in others if one.startswith(incomplete)]

    return complete


def _individuals(context: typer.Context, incomplete: str) -> list[str]:
    """Return the numbers of a run's best individuals."""
    from gi_cuda.runs.stored import open_store  # commands without a run need not import it

    words = [context.params.get("run"), *context.args]  # the line may end in an option
    run = next((Path(one) for one in words if one and (Path(one) / RUN_FILE).is_file()), None)
    if run is None:
        return []
    with open_store(run) as store:
        idents = [str(one.ident) for one, _ in store.best(_NAMED)]
    return [one for one in idents if one.startswith(incomplete)]


_NAMED = 20

TargetPath: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="TARGET",
        help="A target's folder, or its target.toml.",
        autocompletion=_completing(TARGET_FILE),
    ),
]
RunFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option("--run", help="Folder for the run; by default runs/<target>-<number>."),
]
Seed: TypeAlias = Annotated[int, typer.Option(help="Decides every choice of the search.")]
RunPath: TypeAlias = Annotated[
    Path,
    typer.Argument(metavar="RUN", help="A run's folder.", autocompletion=_completing(RUN_FILE)),
]
MovedTarget: TypeAlias = Annotated[
    Path | None,
    typer.Option("--target", help="Where its target is now, if that was moved; it is remembered."),
]
Backend: TypeAlias = Annotated[
    str,
    choice(
        "--backend",
        (AUTO, *BACKENDS),
        "Where variants are compiled and executed; auto: on a GPU, if one can be used.",
        "back end",
        _VARIABLE,
    ),
]
Bnf: TypeAlias = Annotated[
    Path | None, typer.Option("--bnf", help="A grammar edited by hand, instead of the source's.")
]
Scope: TypeAlias = Annotated[
    Path | None, typer.Option("--scope", help="The scopes that belong to --bnf.")
]
_EDITS = choice(
    "--edits",
    EDIT_SETS,
    "What may change: the nine rule types of the paper; operands, right-hand sides and parts of"
    " conditions as well; these, and numbers in headers, sizes and indices by a step; these,"
    " statements before loops, and loops made one or two; those of the paper, and transformations"
    " of whole kernels and loops; all.",
    "set of edits",
)
Edits: TypeAlias = Annotated[str, _EDITS]
EditsOfPreset: TypeAlias = Annotated[str | None, _EDITS]
"""The option ``--edits`` of commands whose preset has its own default."""
Level: TypeAlias = Annotated[
    str,
    choice(
        "--level",
        LEVELS,
        "What evolves: the source, or what nvcc makes of its default configuration.",
        "level",
    ),
]
IndividualNumber: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--individual",
        max=LARGEST,
        help="This individual instead of the winner.",
        autocompletion=_individuals,
    ),
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
Devices: TypeAlias = Annotated[
    str,
    typer.Option(
        "--devices",
        metavar="all|NUMBER,...",
        help="GPUs that measure variants, by the numbers of `gi-cuda doctor`; all: those of the"
        " first one's kind.",
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
Headers: TypeAlias = Annotated[
    list[Path] | None, typer.Option("-I", help="A folder with headers.", metavar="DIR")
]
Macros: TypeAlias = Annotated[
    list[str] | None, typer.Option("-D", help="A macro.", metavar="NAME[=VALUE]")
]
CompileCommands: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--compile-commands", help="Take -I, -D and -std from this compile_commands.json."
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


def follow(run: Path, target: Path | None) -> None:
    """Store the new path of a run's target, if it is given.

    Raises:
        UserError: there is no target, or it is another one.
    """
    if target is not None:
        from gi_cuda.runs.stored import move_target  # commands without a run need not import it

        move_target(run, target)


def devices_of(backend: str, said: str) -> tuple[int, ...]:
    """Return the numbers of the devices to use; empty for all.

    Raises:
        UserError: the text is not a list of numbers, or a device does not exist.
    """
    if said == "all":
        return ALL
    numbers = sorted({int(one) if one.strip().isdecimal() else -1 for one in said.split(",")})
    there = max(1, len(backend_named(backend).gpus()))
    if wrong := [one for one in numbers if not 0 <= one < there]:
        missing = f"there is no device {wrong[0]}"
        what = missing if wrong[0] >= 0 else f"{said!r} is no list of device numbers"
        raise UserError(
            what,
            where="--devices",
            hint="all, or some of those that are there, with commas between:"
            f" {', '.join(map(str, range(there)))}",
        )
    return tuple(numbers)


def cache_unless(refused: bool) -> CodeCache | None:
    """Return the user's cache of compiled code; None if it is refused.

    Raises:
        UserError: the configured size limit of the cache is invalid.
    """
    return None if refused else open_cache(_complain)


def _complain(said: str) -> None:
    print(f"gi-cuda: {said}; going on without it", file=sys.stderr)


def check_choice(option: str, value: str, choices: Collection[str], what: str = "") -> str:
    """Return the value of an option, if it is one of the choices.

    Args:
        what: the kind of thing that is chosen, for messages; "" for none.

    Raises:
        UserError: the value is none of the choices.
    """
    if value not in choices:
        said = f"there is no {what} {value!r}" if what else f"{option} does not take {value!r}"
        raise UserError(said, where=option if what else None, hint=f"one of: {', '.join(choices)}")
    return value
