"""Sanitizers: a program run over its cases while a tool watches every access.

On the host back end the compiler's address and undefined-behaviour sanitizers, on a device the
tools of compute-sanitizer. Each run is a process of its own, and nothing in it is timed.
"""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.compile.process import run
from gi_cuda.backends.compile.shards import Sizes
from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler
from gi_cuda.backends.cuda.ptx.batch import PtxCompiler
from gi_cuda.backends.cuda.toolkit import find_toolkit
from gi_cuda.backends.host.compiler import HostCompiler
from gi_cuda.backends.protocol.requests import Program
from gi_cuda.backends.protocol.session import Session
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Compiler, Variant
from gi_cuda.backends.threads import ONE_THREAD
from gi_cuda.backends.workers.once import Job
from gi_cuda.errors import UserError

LIMIT = 300.0
"""Seconds that a watched run may take, on the device's clock and by the wall."""

_WATCHED = ("-fsanitize=address,undefined", "-fsanitize-recover=all", "-g1", "-O1")
_ADDRESS_OPTIONS = (
    "halt_on_error=0:detect_leaks=0:"
    # Threads of a block are fibres, whose stacks no sanitizer knows.
    "detect_stack_use_after_return=0:"
    # Guard pages speak through the runtime's own handlers.
    "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0"
)

DEVICE_TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
"""Those of compute-sanitizer."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What came of one watched run.

    Attributes:
        log: what the sanitizer wrote.
        failure: how the run ended, where it did not end well; else "".
    """

    log: str
    failure: str


Command: TypeAlias = Callable[[Path, Path], tuple[list[str], Mapping[str, str]]]
"""From the job's file and the log's path to a command and additions to its environment."""


@dataclass(frozen=True, slots=True)
class Sanitizer:
    """A tool that watches.

    Attributes:
        name: for tables.
        compiler: the compiler of the programs that it watches.
        command: how it is started.
    """

    name: str
    compiler: Compiler
    command: Command

    def build(self, variants: Sequence[Variant], folder: Path) -> list[Binary | BuildFailure]:
        """Compile sources for being watched, in the order of their numbers."""
        built = build_batch(self.compiler, variants, folder)
        return [built[variant.ident] for variant in variants]

    def watch(self, session: Session, program: Program) -> Watched:
        """Run a program over its cases."""
        with tempfile.TemporaryDirectory(prefix="gi-cuda-") as scratch:
            file, log = Path(scratch) / "job", Path(scratch) / "log"
            file.write_bytes(pickle.dumps(Job(session, program, LIMIT)))
            words, environment = self.command(file, log)
            try:
                done = subprocess.run(
                    words,
                    env={**os.environ, **ONE_THREAD, **environment},
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    errors="replace",
                    timeout=LIMIT,
                    check=False,
                )
                status, said = done.returncode, done.stderr.strip()
            except subprocess.TimeoutExpired:
                status, said = 1, f"not at its end after {LIMIT:g} s"
            # The compilers' sanitizers put the process's number behind the name.
            logs = sorted(Path(scratch).glob("log*"))
            texts = [path.read_text("utf-8", errors="replace") for path in logs]
            last = said.rpartition("\n")[2]
            failure = (last or f"exit status {status}") if status else ""
            # g++'s undefined-behaviour sanitizer writes to standard error, come what may.
            return Watched("\n".join([*texts, said]), failure)


def host_sanitizers(compiler: HostCompiler) -> list[Sanitizer]:
    """The address and undefined-behaviour sanitizers in one.

    Raises:
        UserError: g++ or its sanitizers are not there.
    """
    gxx = shutil.which("g++")
    libraries = [_library(gxx, name) for name in ("libasan.so", "libubsan.so")] if gxx else [None]
    if gxx is None or None in libraries:
        raise UserError(
            "no address sanitizer found: "
            + ("g++ is not on PATH" if gxx is None else "g++ has no libasan.so or libubsan.so"),
            hint="install g++ with its sanitizers, e.g. `apt install g++`, or go without:"
            " --sanitizers none",
        )

    def command(file: Path, log: Path) -> tuple[list[str], Mapping[str, str]]:
        environment = {
            # The sanitizer's allocator must be there before Python's first allocation.
            "LD_PRELOAD": " ".join(map(str, libraries)),
            "ASAN_OPTIONS": f"{_ADDRESS_OPTIONS}:log_path={log}",
            "UBSAN_OPTIONS": "halt_on_error=0",
        }
        return [sys.executable, "-m", "gi_cuda.backends.workers.once", str(file)], environment

    watched = replace(compiler, cxx=gxx, options=(*compiler.options, *_WATCHED), sizes=Sizes(1, 1))
    return [Sanitizer("address, undefined", watched, command)]


def _library(gxx: str, name: str) -> str | None:
    said = run([gxx, f"-print-file-name={name}"], limit=60.0).stdout.strip()
    return said if os.path.isabs(said) else None


def device_sanitizers(compiler: NvccCompiler | PtxCompiler) -> list[Sanitizer]:
    """The tools of compute-sanitizer; of PTX they name no lines.

    Raises:
        UserError: it is not there.
    """
    program = find_toolkit().tool("compute-sanitizer")
    if program is None:
        raise UserError(
            "compute-sanitizer is neither beside nvcc nor on PATH",
            hint="pip install nvidia-cuda-sanitizer-api, or go without: --sanitizers none",
        )
    watched: Compiler = compiler
    if isinstance(compiler, NvccCompiler):
        watched = replace(compiler, options=(*compiler.options, "-lineinfo"))

    def command_of(tool: str) -> Command:
        def command(file: Path, log: Path) -> tuple[list[str], Mapping[str, str]]:
            words = [str(program), "--tool", tool, "--log-file", str(log)]
            return [*words, sys.executable, "-m", "gi_cuda.backends.workers.once", str(file)], {}

        return command

    return [Sanitizer(tool, watched, command_of(tool)) for tool in DEVICE_TOOLS]


def sanitizers(compiler: Compiler) -> list[Sanitizer]:
    """Those of a back end, by its compiler.

    Raises:
        UserError: they are not installed.
    """
    if isinstance(compiler, NvccCompiler | PtxCompiler):
        return device_sanitizers(compiler)
    assert isinstance(compiler, HostCompiler)
    return host_sanitizers(compiler)
