"""A copy of the work tree, in which the commands of the application run."""

from __future__ import annotations

import errno
import math
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.backends.process_ids import signal_name
from gi_cuda.backends.processes import Followed, Process
from gi_cuda.errors import UserError, machine_error
from gi_cuda.spec import Application, Target
from gi_cuda.spec.toml_file.load import keys_of
from gi_cuda.upstream.copies import environment
from gi_cuda.upstream.outputs import Lines, Printed

APPENDED = "NVCC_APPEND_FLAGS"
"""Environment variable from which nvcc reads options in addition to its command line."""

MOST = 16 << 20
"""Bytes that a command may print to stdout, and to stderr."""

_LAST = 12
"""Number of lines of a command's output in a message."""

_WIDEST = 240
"""Largest number of characters of each of these lines."""


class Rejected(Exception):
    """An error that rejects the patch; its message is the reason."""


@dataclass(frozen=True, slots=True)
class ApplicationCopy:
    """A copy of the work tree, in which the application's commands run.

    Attributes:
        top: root folder of the copy.
        place: folder in which commands run.
        patched: whether the patch is applied.
        options: options that nvcc gets in addition to those of the build.
    """

    target: Target
    application: Application
    top: Path
    place: Path
    patched: bool
    options: str = ""

    def build(self) -> None:
        """Run the build command, if the target has one."""
        if self.application.build:
            self._succeed("build", {APPENDED: self.options} if self.options else {})

    def run(self) -> Followed:
        """Run the program."""
        return self._succeed("run")

    def check(self, **files: Path) -> None:
        """Run the check command.

        Args:
            files: environment variables of the command: names and paths.
        """
        self._succeed("check", {name: str(path) for name, path in files.items()})

    def lines(self, ran: Followed) -> Lines:
        """Return the lines of a run's output that are compared."""
        return printed(self.application).lines(ran.stdout, self.top)

    def kernel_time(self, ran: Followed) -> float:
        """Return the kernel's time that the program prints, the sum of all matches.

        Raises:
            Rejected: no time above 0 is found in the output, and the patch is applied.
            UserError: no time above 0 is found in the output without the patch.
        """
        found = printed(self.application).numbers(ran.stdout, ran.stderr)
        try:
            total = sum(map(float, found))
        except ValueError:
            total = 0.0
        if not 0 < total < math.inf:
            shown = ", ".join(map(repr, found[:5])) if found else "nothing"
            raise self.fault(
                "kernel_time",
                f"the regular expression finds {shown} in its output, and no time above 0",
                "All that the group matches, in stdout and stderr, is added up.",
            )
        return total

    def _succeed(self, key: str, more: dict[str, str] | None = None) -> Followed:
        command, limit = getattr(self.application, key), getattr(self.application.limit, key)
        ended = run_command(command, self.place, limit, more or {})
        if ended.status == 0:
            return ended
        said = _tail(ended).replace(f"{self.top}/", "")
        if os.strerror(errno.ENOSPC) in said:
            raise machine_error(OSError(errno.ENOSPC, "", str(self.top)))
        what = f"`{command}` {how_it_ended(ended, limit)}"
        raise self.fault(key, f"{what}{said and ':'}{said}", self._advice(ended, key))

    def fault(self, key: str, what: str, hint: str = "") -> Exception:
        """Return the exception for a failure: `Rejected` with the patch, UserError without it."""
        if self.patched:
            return Rejected(f"with the patch {what}")
        place = keys_of(self.target).at(("application", key))
        return UserError(f"without any patch {what}", where=place, hint=hint or None)

    def _advice(self, ended: Followed, key: str) -> str:
        if ended.loud:
            return "Send it to a file: `./program > out.txt && sha256sum out.txt`."
        if ended.status is None:
            return f"Give it longer: limit = {{ {key} = SECONDS }}."
        return (
            f"It ran in {self.place.name}/ of a copy of the work tree. What git ignores is not in"
            " the copy: files that it needs go into `inputs`. Variables that you build with belong"
            ' to the command: build = "make ARCH=sm_90".'
        )


def printed(application: Application) -> Printed:
    """Return the reader of the application's output."""
    return Printed(application.ignore, application.kernel_time)


def run_command(command: str, place: Path, limit: float, more: dict[str, str]) -> Followed:
    """Run a shell command; kill processes that it leaves behind.

    Args:
        command: the command line.
        place: working directory.
        limit: time limit, seconds.
        more: additional environment variables.
    """
    process = Process(
        ["/bin/sh", "-c", command],
        cwd=place,
        env=environment(**more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    return process.followed(limit, MOST)


_SHELL = 128
"""Offset of a shell's exit status if a signal ended the program: 128 + signal number."""


def how_it_ended(ended: Followed, limit: float) -> str:
    """Describe the end of a failed command: "does not end within 60 s", "fails (status 1)".

    The text continues a sentence whose subject is the command.
    """
    status = ended.status
    if ended.loud:
        return f"prints more than {MOST >> 20} MiB"
    if status is None:
        return f"does not end within {limit:g} s"
    number = -status if status < 0 else status - _SHELL
    if number in signal.valid_signals() and number > 0:
        return f"was killed ({signal_name(number)})"
    words = {126: "cannot be executed", 127: "is not found, or something that it needs"}
    return f"{words.get(status, 'fails')} (status {status})"


def _tail(ended: Followed) -> str:
    """Return the last lines that a command wrote to stderr, or to stdout if stderr is empty."""
    text = (ended.stderr.strip() or ended.stdout.strip()).decode("utf-8", "replace")
    lines = [line.rstrip() for line in text.splitlines() if line.strip()][-_LAST:]
    short = (line if len(line) <= _WIDEST else f"{line[:_WIDEST]}..." for line in lines)
    return "".join(f"\n    {line}" for line in short)
