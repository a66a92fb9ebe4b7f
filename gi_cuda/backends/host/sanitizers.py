"""The C++ compiler's own sanitizers, for addresses and undefined behaviour."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gi_cuda.backends.compile.process import run
from gi_cuda.backends.compile.shards import Sizes
from gi_cuda.backends.host.compiler import HostCompiler
from gi_cuda.backends.protocol.backend import Sanitizer
from gi_cuda.backends.protocol.variants import Compiler
from gi_cuda.errors import UserError

_OPTIONS = ("-fsanitize=address,undefined", "-fsanitize-recover=all", "-g1", "-O1")
_ADDRESS_OPTIONS = (
    "halt_on_error=0:detect_leaks=0:"
    # Threads of a block are fibres, whose stacks no sanitizer knows.
    "detect_stack_use_after_return=0:"
    # Guard pages speak through the runtime's own handlers.
    "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:handle_sigill=0:handle_abort=0"
)


def compiled_in_sanitizers(compiler: Compiler) -> list[Sanitizer]:
    """The address and undefined-behaviour sanitizers in one.

    Raises:
        UserError: g++ or its sanitizers are not there.
    """
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

    options = (*compiler.options, *_OPTIONS)
    watched = replace(compiler, cxx=gxx, options=options, sizes=Sizes(1, 1))
    return [Sanitizer("address, undefined", watched, compiled_in=True, command=command)]


def _library(gxx: str, name: str) -> str | None:
    said = run([gxx, f"-print-file-name={name}"], limit=60.0).stdout.strip()
    return said if os.path.isabs(said) else None
