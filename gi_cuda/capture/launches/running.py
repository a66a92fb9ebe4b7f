"""Run an application with the library that records its launches."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gi_cuda.backends.cuda.driver import query
from gi_cuda.backends.processes import Process
from gi_cuda.capture.launches.library import build_library
from gi_cuda.capture.launches.recording import Recording, recordings
from gi_cuda.errors import UserError

TIME = 60.0
"""Default time limit of an application, seconds."""

_GRACE = 15.0
"""Seconds after the time limit until all processes of the application are killed. Before that, the
library ends the processes that use CUDA."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Instructions for the library: the launches to record with arguments and memory.

    Attributes:
        ordinals: numbers of the launches to record, from 0, by mangled name of the kernel.
        textures: numbers of parameters that are texture objects.
        symbols: possible mangled names of device variables, by name.
        again: number of repetitions of each recorded launch, with the same inputs.
        limit: bytes that may be recorded.
        seconds: time limit of a process; 0: none.
    """

    ordinals: Mapping[str, Sequence[int]] = field(default_factory=dict)
    textures: Sequence[int] = ()
    symbols: Mapping[str, Sequence[str]] = field(default_factory=dict)
    again: int = 0
    limit: int = 0
    seconds: int = 0

    @property
    def text(self) -> str:
        """The plan in the format that the library reads."""
        lines = [f"take {n} {kernel}" for kernel, every in self.ordinals.items() for n in every]
        lines += [f"texture {number}" for number in self.textures]
        lines += [f"symbol {name} {' '.join(names)}" for name, names in self.symbols.items()]
        numbers = {"again": self.again, "limit": self.limit, "seconds": self.seconds}
        lines += [f"{name} {number}" for name, number in numbers.items()]
        return "\n".join([*lines, ""])


@dataclass(frozen=True, slots=True)
class Application:
    """A command that launches kernels.

    Attributes:
        command: program and arguments.
        limit: time limit, seconds; launches until then are recorded.
    """

    command: tuple[str, ...]
    limit: float = TIME

    @property
    def shown(self) -> str:
        """The command as a shell command line."""
        return shlex.join(self.command)

    @property
    def program(self) -> Path | None:
        """Path of the program; None if it is not found."""
        found = shutil.which(self.command[0])
        return None if found is None else Path(found)

    def run(self, plan: Plan, folder: Path, *, quiet: bool) -> tuple[list[Recording], int]:
        """Run the application and record its launches.

        Args:
            plan: launches to record with arguments and memory.
            folder: folder for the recording; must not exist yet.
            quiet: write the application's output to a file instead of the terminal.

        Returns:
            The recordings of its processes, and its exit status; 0 if it was ended at its limit.

        Raises:
            UserError: there is no GPU or no CUPTI; the application cannot be started, or launches
                nothing.
        """
        own = self.injection()
        folder.mkdir(parents=True)
        # A launch that was listed just before the time limit may come a little later this time.
        limit = self.limit * (2 if plan.ordinals else 1)
        (folder / "plan").write_text(replace(plan, seconds=max(1, round(limit))).text)
        own["GI_CUDA_CAPTURE"] = str(folder)
        status = self._started(own, folder, limit + _GRACE, quiet)
        return self._recorded(folder, status), status or 0

    def injection(self) -> dict[str, str]:
        """Return the environment variables that make CUDA load the library into the application.

        Raises:
            UserError: there is no GPU or no CUPTI.
        """
        driver = query()
        if not driver.gpus:
            raise UserError(
                f"no GPU can be used: {driver.trouble}",
                hint="capture where there is one; the target that it writes works without, too",
            )
        return {"CUDA_INJECTION64_PATH": str(build_library())}

    def _started(
        self, own: Mapping[str, str], folder: Path, limit: float, quiet: bool
    ) -> int | None:
        output = (folder / "output").open("w") if quiet else None
        try:
            process = Process(
                self.command,
                env={**os.environ, **own},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
            status, *_ = process.output(None, limit)
        except OSError as error:
            raise UserError(
                f"cannot be started: {error.strerror}",
                where=self.command[0],
                hint="say it as you type it: `gi-cuda capture -- ./program ARGUMENTS`",
            ) from None
        finally:
            if output is not None:
                output.close()
        return status

    def _recorded(self, folder: Path, status: int | None) -> list[Recording]:
        every = recordings(folder)
        for one in every:
            if one.trouble:
                raise UserError(
                    f"its launches cannot be seen: {one.trouble}",
                    where=self.shown,
                    hint="make room where TMPDIR is; no other profiler (nsys, ncu,"
                    " compute-sanitizer) may run it meanwhile",
                )
        if every and (len(every[0].launches) or every[0].kernels):
            return every
        how = f" and ended with status {status}" if status else ""
        hint = (
            "it must get to its kernels by itself: with these arguments, no input, and started"
            " here, not by a server or on another machine"
        )
        if status is None or any(one.was_ended for one in every):
            how, hint = f" within {self.limit:g} s", "give it more time, --time TIME, or less to do"
        raise UserError(f"it launched no kernel{how}", where=self.shown, hint=hint)
