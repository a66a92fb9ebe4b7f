"""Running an application such that what it launches is written down."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gi_cuda.backends.cuda.driver import query
from gi_cuda.backends.processes import Process
from gi_cuda.capture.library import build_library
from gi_cuda.capture.recording import Recording, recordings
from gi_cuda.errors import UserError

_NEVER = 10.0**7
"""Seconds that an application may take where nobody says."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written down besides that something was launched.

    Attributes:
        ordinals: by a kernel's mangled name the numbers of its launches, from 0.
        textures: numbers of parameters that are texture objects.
        symbols: by a variable's name how binaries may call it.
        limit: bytes that may be kept.
    """

    ordinals: Mapping[str, Sequence[int]] = field(default_factory=dict)
    textures: Sequence[int] = ()
    symbols: Mapping[str, Sequence[str]] = field(default_factory=dict)
    limit: int = 0

    @property
    def text(self) -> str:
        """As the library reads it."""
        lines = [f"take {n} {kernel}" for kernel, every in self.ordinals.items() for n in every]
        lines += [f"texture {number}" for number in self.textures]
        lines += [f"symbol {name} {' '.join(names)}" for name, names in self.symbols.items()]
        return "\n".join([*lines, f"limit {self.limit}", ""])


@dataclass(frozen=True, slots=True)
class Application:
    """A program that launches kernels, as it is called."""

    command: tuple[str, ...]
    limit: float = _NEVER

    @property
    def shown(self) -> str:
        """As one types it."""
        return shlex.join(self.command)

    @property
    def program(self) -> Path | None:
        """Its file, as far as that can be told."""
        found = shutil.which(self.command[0])
        return None if found is None else Path(found)

    def run(self, plan: Plan, folder: Path, *, quiet: bool) -> tuple[list[Recording], int]:
        """What its processes launch, and its exit status.

        Args:
            folder: where that is written; must not exist yet.
            quiet: whether nobody sees what it prints.

        Raises:
            UserError: no GPU, no CUPTI; it cannot be started, is stopped, or launches nothing.
        """
        own = self.injection()
        folder.mkdir(parents=True)
        (folder / "plan").write_text(plan.text)
        status = self._started({**own, "GI_CUDA_CAPTURE": str(folder)}, folder, quiet)
        return self._recorded(folder, status), status

    def injection(self) -> dict[str, str]:
        """The environment in which CUDA loads the library into it.

        Raises:
            UserError: no GPU, no CUPTI.
        """
        driver = query()
        if not driver.gpus:
            raise UserError(
                f"no GPU can be used: {driver.trouble}",
                hint="capture where there is one; the target that it writes works without, too",
            )
        return {"CUDA_INJECTION64_PATH": str(build_library())}

    def _started(self, own: Mapping[str, str], folder: Path, quiet: bool) -> int:
        output = (folder / "output").open("w") if quiet else None
        try:
            process = Process(
                self.command,
                env={**os.environ, **own},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
            status, *_ = process.output(None, self.limit)
        except OSError as error:
            raise UserError(
                f"cannot be started: {error.strerror}",
                where=self.command[0],
                hint="say it as you type it: `gi-cuda capture -- ./program ARGUMENTS`",
            ) from None
        finally:
            if output is not None:
                output.close()
        if status is None:
            raise UserError(
                f"it did not end within {self.limit:g} s",
                where=self.shown,
                hint="give it less to do, or more time: --time SECONDS",
            )
        return status

    def _recorded(self, folder: Path, status: int) -> list[Recording]:
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
        raise UserError(
            f"it launched no kernel{how}",
            where=self.shown,
            hint="it must get to its kernels by itself: with these arguments, no input, and started"
            " here, not by a server or on another machine",
        )
