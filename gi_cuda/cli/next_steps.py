"""Suggestions of the next command, printed at the end of a command."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from gi_cuda.analyze.finalists.winner import how_to_go_on
from gi_cuda.analyze.next_step import next_step
from gi_cuda.cli.console import console
from gi_cuda.report.tables import say_whole
from gi_cuda.runs.stored import open_store
from gi_cuda.store import Store


def command_line(*words: object) -> str:
    """Return a gi-cuda command, quoted for a shell."""
    return shlex.join(["gi-cuda", *map(str, words)])


def say_next(command: str, why: str) -> None:
    """Print the next command and its purpose."""
    for line in _lines(command, why):
        say_whole(console, line)


def say_next_aside(command: str, why: str) -> None:
    """Print the next command on standard error, if standard output is for a program."""
    print(*_lines(command, why), sep="\n", file=sys.stderr)


def say_next_of_run(store: Store, folder: Path) -> None:
    """Print the next command for a run."""
    say_next(*next_step(store, folder))


def search_further(folder: Path) -> tuple[str, str]:
    """Return the command that searches further in a run, and its purpose."""
    with open_store(folder) as store:
        return how_to_go_on(store, folder), "search further"


def say_next_after(folder: Path) -> None:
    """Print the next command for a run that was closed."""
    with open_store(folder) as store:
        say_next_of_run(store, folder)


def _lines(command: str, why: str) -> tuple[str, str]:
    return f"next: {why}", f"  {command}"
