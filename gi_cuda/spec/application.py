"""The application that a source is part of: how it is built and run, and what says that it is
right."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gi_cuda.spec.table import Table

if TYPE_CHECKING:
    from gi_cuda.spec import key_types as key


@dataclass(frozen=True, slots=True)
class Limits(Table):
    """``limit`` of ``[application]``: seconds after which a command is killed."""

    build: key.Seconds = 1200.0
    run: key.Seconds = 300.0
    check: key.Seconds = 1200.0


@dataclass(frozen=True, slots=True)
class Application(Table):
    """``[application]``: commands for the shell, run in copies of the work tree that holds the
    source.

    Attributes:
        folder: where they are run; None in the file: the source's folder.
        build: makes the program; "" where nothing is to be built.
        run: the program itself; this is what is timed.
        check: says by its exit status whether the program is right; "": its output must be the
            same with a patch as without.
        inputs: files and folders of the work tree that git ignores, and that it needs.
        ignore: regular expressions of what does not count in its output.
        kernel_time: a regular expression with one group: the kernel's time in its output.
        pairs: how often the program is timed before and after, at most.
    """

    run: key.Command
    build: key.Command = ""
    check: key.Command = ""
    folder: key.Folder | None = None
    inputs: tuple[key.File, ...] = ()
    ignore: tuple[key.Pattern, ...] = ()
    kernel_time: key.GroupPattern = ""
    pairs: key.Pairs = 12
    limit: Limits = field(default_factory=Limits)
    line: int = 0

    @property
    def place(self) -> Path:
        """Where its commands are run; known of one that belongs to a target."""
        assert self.folder is not None
        return self.folder
