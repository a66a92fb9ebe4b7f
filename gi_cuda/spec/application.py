"""The table ``[application]``: commands that build, run and check a source's application."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from gi_cuda.spec.toml_file.table import Table

if TYPE_CHECKING:
    from gi_cuda.spec.toml_file import key_types as key


@dataclass(frozen=True, slots=True)
class Limits(Table):
    """``limit`` of ``[application]``: time limit of each command, seconds."""

    build: key.Seconds = 1200.0
    run: key.Seconds = 300.0
    check: key.Seconds = 1200.0


@dataclass(frozen=True, slots=True)
class Application(Table):
    """``[application]``: shell commands that run in copies of the source's work tree.

    Attributes:
        run: command that runs the program; its time is measured.
        build: command that builds the program; "" if there is nothing to build.
        check: command whose exit status says whether the program is right; "": the output must be
            the same with a patch as without.
        folder: folder in which the commands run; None in the file: the source's folder.
        inputs: files and folders that the application needs although git ignores them.
        ignore: regular expressions of output that is not compared.
        kernel_time: a regular expression with one group: the kernel's time in the output.
        pairs: largest number of timed pairs of runs, without and with the patch.
        limit: time limits of the commands.
        line: line of the table in ``target.toml``.
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
        """Folder in which the commands run; only defined for the application of a target."""
        assert self.folder is not None
        return self.folder
