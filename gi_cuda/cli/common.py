"""What several verbs share: the console, options, and opening a subject."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

import typer
from rich.console import Console

from gi_cuda.errors import UserError

console = Console(soft_wrap=False)


@dataclass(slots=True)
class State:
    """Options given before the verb."""

    debug: bool = False


state = State()

TargetPath: TypeAlias = Annotated[
    Path, typer.Argument(metavar="TARGET", help="A target's folder, or its target.toml.")
]
RunPath: TypeAlias = Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")]
Backend: TypeAlias = Annotated[
    str, typer.Option("--backend", help="Where variants are compiled and executed: host or cuda.")
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
    int | None, typer.Option("--individual", help="This individual instead of the winner.")
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
    typer.Option("--workers", min=0, help="Measurements at a time; 0: as many as fit."),
]
Jobs: TypeAlias = Annotated[
    int, typer.Option("--jobs", "-j", min=0, help="Compilers at a time; 0: one per core.")
]
Force: TypeAlias = Annotated[bool, typer.Option("--force", help="Overwrite what is there.")]

BACKENDS = ("host", "cuda")


def check_backend(name: str) -> str:
    """The back end's name, if there is such a back end."""
    if name not in BACKENDS:
        raise UserError(
            f"there is no back end {name!r}",
            where="--backend",
            hint=f"one of: {', '.join(BACKENDS)}",
        )
    return name


def check_edits(name: str) -> str:
    """The name of a set of rule types, if there is such a set."""
    from gi_cuda.grammar import EDIT_SETS

    if name not in EDIT_SETS:
        raise UserError(
            f"there is no set of edits {name!r}",
            where="--edits",
            hint=f"one of: {', '.join(EDIT_SETS)}",
        )
    return name


@contextmanager
def working(doing: str) -> Iterator[None]:
    """Say what is being done while it is (see :class:`~gi_cuda.report.progress.Steps`)."""
    from gi_cuda.report.progress import Steps

    with Steps(console) as tell:
        tell(doing)
        yield


def check_choice(option: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse a value that an option does not take."""
    if value not in choices:
        raise UserError(
            f"{option} does not take {value!r}", where=option, hint=f"one of: {', '.join(choices)}"
        )


def read_numbers(text: str, count: int) -> frozenset[int]:
    """Positions from 0 of the changes that a list such as ``1,3-5`` names, which counts from 1.

    Raises:
        UserError: it is no such list, or there is no change of such a number.
    """
    found: set[int] = set()
    for word in text.split(","):
        match = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", word)
        if match is None:
            raise UserError(
                f"{word.strip()!r} is not a number or a range", where="--edits", hint="e.g. 1,3-5"
            )
        first = int(match[1])
        last = int(match[2] or first)
        for number in (first, last):
            if not 1 <= number <= count:
                raise UserError(
                    f"there is no change {number}",
                    where="--edits",
                    hint=f"they are 1 to {count}; gi-cuda explain lists them",
                )
        found |= set(range(first - 1, last))
    return frozenset(found)


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def check_new(path: Path, *, force: bool) -> None:
    """Refuse to write over a file, unless asked to, or where nothing can be written.

    Raises:
        UserError: the file exists, is a folder, or cannot be made.
    """
    if path.is_dir():
        raise UserError("it is a folder", where=str(path), hint="name a file")
    if path.exists() and not force:
        raise UserError("the file exists", where=str(path), hint="overwrite it with --force")
    _probe(path.parent, path)


def check_figures(folder: Path, names: Iterable[str]) -> None:
    """Refuse a folder that figures cannot be written to, before anybody waits for them.

    Args:
        names: of the files without their suffixes.

    Raises:
        UserError: it is no folder, cannot be made, or has a folder where a figure goes.
    """
    _probe(folder, folder)
    for name in names:
        for suffix in ("svg", "png", "dot"):
            if (folder / f"{name}.{suffix}").is_dir():
                raise UserError(
                    "it is a folder, and a figure goes here",
                    where=str(folder / f"{name}.{suffix}"),
                    hint="remove it, or name another folder with --figures",
                )


def _probe(folder: Path, what: Path) -> None:
    """Find out whether files can be made in a folder, which may have to be made itself.

    Args:
        what: the file or folder that the user asked for, for the message.
    """
    try:
        there = next(one for one in (folder, *folder.absolute().parents) if one.exists())
        # Permissions do not tell: root has them all, and still cannot write everywhere.
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise UserError(
            f"cannot be written: {error.strerror}", where=str(what), hint="name another place"
        ) from None


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for what is needed meanwhile; it goes with the context.

    Raises:
        UserError: there is no place for one.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix="gi-cuda-")
    except OSError as error:
        raise UserError(
            f"no folder can be made for what is needed meanwhile: {error.strerror}",
            where=os.environ.get("TMPDIR", "TMPDIR"),
            hint="name one with the environment variable TMPDIR",
        ) from None
    with folder as path:
        yield Path(path)


def write_new(path: Path, text: str, *, force: bool) -> None:
    """Write a file whole or not at all; never over one that is there unless asked.

    Raises:
        UserError: the file exists, or cannot be written.
    """
    check_new(path, force=force)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
        scratch.replace(path)
    except OSError as error:
        with suppress(OSError):
            scratch.unlink()
        raise UserError(f"cannot be written: {error.strerror}", where=str(path)) from None


@contextmanager
def set_aside(folder: Path) -> Iterator[None]:
    """Let a run make room for another of its name; it comes back where the other is not made.

    Raises:
        UserError: the folder is not a run's; nothing else is ever removed.
    """
    if not folder.exists():
        yield
        return
    if not (folder / "run.db").is_file():
        raise UserError(
            "the folder exists and is not a run, so --force does not remove it", where=str(folder)
        )
    aside = folder.with_name(f".{folder.name}.{os.getpid()}.old")
    folder.rename(aside)
    try:
        yield
    finally:
        if folder.exists():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            aside.rename(folder)
