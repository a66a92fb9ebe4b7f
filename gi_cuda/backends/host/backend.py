"""The host back end: kernels compiled by a C++ compiler, run on the processor."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gi_cuda.backends.host.library import build_library, find_compiler
from gi_cuda.backends.protocol.backend import (
    Backend,
    Examined,
    Processes,
    Sanitizer,
    examined,
    versions,
)
from gi_cuda.backends.protocol.device import DeviceMaker
from gi_cuda.backends.protocol.variants import Compiler

if TYPE_CHECKING:
    from gi_cuda.subject import Subject


@dataclass(frozen=True, slots=True)
class OpenHost:
    """The processor, and the C++ compiler ``cxx``."""

    cxx: str
    depth: int = 1
    together: int = 1

    def processes(self, workers: int) -> Processes:
        """As many: each has a processor of its own."""
        return Processes(workers)

    def workers(self, asked: int, cores: int) -> int:
        """One for each core."""
        return asked or cores

    def compiler(self, subject: Subject, jobs: int) -> Compiler:
        """g++ or clang++."""
        from gi_cuda.backends.host.compiler import HostCompiler

        return HostCompiler.of(subject, jobs, cxx=self.cxx)

    def device(self) -> str:
        """The processor's name, as the system gives it."""
        try:
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
        except OSError:
            pass
        return platform.processor() or platform.machine()

    def versions(self) -> dict[str, str]:
        """Of this tool, Python and the compiler."""
        return versions(compiler=_said_version(self.cxx))


def _open() -> OpenHost:
    # What is wrong with a compiler comes out here, before anything is compiled with it.
    cxx = find_compiler()
    build_library(cxx)
    return OpenHost(cxx)


def _compiler(subject: Subject, jobs: int) -> Compiler:
    return OpenHost(find_compiler()).compiler(subject, jobs)


def _device_maker() -> DeviceMaker:
    from gi_cuda.backends.host.device import HostDevice

    build_library()
    return HostDevice


def _sanitizers(compiler: Compiler) -> list[Sanitizer]:
    from gi_cuda.backends.host.sanitizers import compiled_in_sanitizers

    return compiled_in_sanitizers(compiler)


def _examine() -> Iterator[Examined]:
    def look() -> str:
        cxx = find_compiler()
        return f"{_said_version(cxx)} ({cxx})"

    yield examined("C++ compiler", look)


def _said_version(program: str) -> str:
    """The first line that a program says when asked for its version."""
    said = subprocess.run(
        [program, "--version"], capture_output=True, text=True, errors="replace", timeout=20
    )
    return said.stdout.partition("\n")[0].strip()


BACKEND = Backend(
    gpu=False,
    compiled_levels=(),
    open=_open,
    compiler=_compiler,
    device_maker=_device_maker,
    sanitizers=_sanitizers,
    examine=_examine,
)
