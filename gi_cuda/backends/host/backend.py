"""The host back end: compiles kernels with a C++ compiler and runs them on the CPU."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gi_cuda.backends.compile.process import run
from gi_cuda.backends.host.build.library import build_library, find_compiler
from gi_cuda.backends.host.running.isolation import isolation
from gi_cuda.backends.protocol.backend import (
    Backend,
    Examined,
    LogForm,
    Processes,
    Sanitizer,
    examined,
    versions,
)
from gi_cuda.backends.protocol.device import DeviceMaker
from gi_cuda.backends.protocol.session import DeviceId
from gi_cuda.backends.protocol.variants import Compiler
from gi_cuda.errors import UserError

if TYPE_CHECKING:
    from gi_cuda.subject import Subject


_SANITIZERS = ("-fsanitize=address,undefined", "-fsanitize-recover=all", "-g1", "-O1")
_ADDRESS_OPTIONS = (
    "halt_on_error=0:detect_leaks=0:"
    # Threads of a block are fibres, and the sanitizer does not know their stacks.
    "detect_stack_use_after_return=0:"
    # The runtime's own signal handlers report accesses to guard pages.
    "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0"
)


@dataclass(frozen=True, slots=True)
class OpenHost:
    """The CPU, and a C++ compiler.

    Attributes:
        cxx: the compiler.
        devices: one device, which stands for all processors.
        slack: large, since CPU time was seen to vary by a factor of 2 under other load.
        death: time in which the next worker is forked.
    """

    cxx: str
    devices: tuple[DeviceId, ...] = (DeviceId(),)
    architecture: str = ""
    left_out: tuple[str, ...] = ()
    depth: int = 1
    together: int = 1
    slack: float = 5.0
    death: float = 0.02

    def processes(self, workers: int) -> Processes:
        """Return one process for each measurement: each has a processor of its own."""
        return Processes(workers)

    def workers(self, asked: int, cores: int) -> int:
        """Return one measurement for each core, unless another number is asked for."""
        return asked or cores

    def compiler(self, subject: Subject, jobs: int) -> Compiler:
        """Return g++ or clang++ as the compiler."""
        from gi_cuda.backends.host.build.compiler import HostCompiler

        return HostCompiler.of(subject, jobs, cxx=self.cxx)

    def device(self) -> str:
        """Return the CPU's name from the system."""
        try:
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
        except OSError:
            pass
        return platform.processor() or platform.machine()

    def bandwidth(self) -> float | None:
        """Return None: emulated threads tell nothing about a limit by memory."""
        return None

    def versions(self) -> dict[str, str]:
        """Return the versions of this tool, Python and the compiler."""
        return versions(compiler=_said_version(self.cxx))


def _open(devices: Collection[int]) -> OpenHost:
    # This raises errors of a broken compiler before anything else is compiled with it.
    cxx = find_compiler()
    build_library(cxx)
    return OpenHost(cxx)


def _compiler(subject: Subject, jobs: int, architecture: str) -> Compiler:
    return OpenHost(find_compiler()).compiler(subject, jobs)


def _device_maker() -> DeviceMaker:
    from gi_cuda.backends.host.running.device import HostDevice

    build_library()
    return HostDevice


def _sanitizers(compiler: Compiler) -> list[Sanitizer]:
    """Return the address and undefined-behaviour sanitizers, combined in one.

    Raises:
        UserError: g++ or its sanitizers are not installed.
    """
    from gi_cuda.backends.compile.shards import Sizes
    from gi_cuda.backends.host.build.compiler import HostCompiler

    assert isinstance(compiler, HostCompiler)
    gxx = shutil.which("g++")
    libraries = [_library(gxx, name) for name in ("libasan.so", "libubsan.so")] if gxx else [None]
    if gxx is None or None in libraries:
        raise UserError(
            "no address sanitizer found: "
            + ("g++ is not on PATH" if gxx is None else "g++ has no libasan.so or libubsan.so"),
            hint="install g++ with its sanitizers, e.g. `apt install g++`, or go without:"
            " --sanitizers none",
        )

    def command(program: Sequence[str], log: Path) -> tuple[list[str], Mapping[str, str]]:
        environment = {
            # The sanitizer's allocator must be there before Python's first allocation.
            "LD_PRELOAD": " ".join(map(str, libraries)),
            "ASAN_OPTIONS": f"{_ADDRESS_OPTIONS}:log_path={log}",
            "UBSAN_OPTIONS": "halt_on_error=0",
        }
        return list(program), environment

    options = (*compiler.options, *_SANITIZERS)
    watched = replace(compiler, cxx=gxx, options=options, sizes=Sizes(1, 1))
    return [Sanitizer("address, undefined", watched, LogForm.COMPILED_IN, command)]


def _races(compiler: Compiler) -> Sanitizer:
    from gi_cuda.backends.host.build.compiler import HostCompiler
    from gi_cuda.backends.host.running.races import race_detector

    assert isinstance(compiler, HostCompiler)
    return race_detector(compiler)


def _library(gxx: str, name: str) -> str | None:
    said = run([gxx, f"-print-file-name={name}"], limit=60.0).stdout.strip()
    return said if os.path.isabs(said) else None


def _examine() -> Iterator[Examined]:
    def look() -> str:
        cxx = find_compiler()
        return f"{_said_version(cxx)} ({cxx})"

    yield examined("C++ compiler", look)
    hint = "without it, kernels that you judge can use your files: judge them in a container"
    yield Examined("isolation of kernels", isolation() or None, hint, optional=True)


def _said_version(program: str) -> str:
    """Return the first line of a program's version output."""
    return run([program, "--version"], limit=20.0).stdout.partition("\n")[0].strip()


BACKEND = Backend(
    gpu=False,
    compiled_levels=(),
    open=_open,
    compiler=_compiler,
    device_maker=_device_maker,
    sanitizers=_sanitizers,
    races=_races,
    examine=_examine,
    idle_types=("launchbounds",),
    isolation=isolation,
)
