"""The tools of compute-sanitizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler
from gi_cuda.backends.cuda.toolkit import find_toolkit
from gi_cuda.backends.protocol.backend import Sanitizer, WatchedCommand
from gi_cuda.backends.protocol.variants import Compiler
from gi_cuda.errors import UserError

_TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")


def compute_sanitizers(compiler: Compiler) -> list[Sanitizer]:
    """The tools of compute-sanitizer; of PTX they name no lines.

    Raises:
        UserError: it is not there.
    """
    sanitizer = find_toolkit().tool("compute-sanitizer")
    if sanitizer is None:
        raise UserError(
            "compute-sanitizer is neither beside nvcc nor on PATH",
            hint="pip install nvidia-cuda-sanitizer-api, or go without: --sanitizers none",
        )
    watched = compiler
    if isinstance(compiler, NvccCompiler):
        watched = replace(compiler, options=(*compiler.options, "-lineinfo"))

    def command_of(tool: str) -> WatchedCommand:
        def command(program: Sequence[str], log: Path) -> tuple[list[str], Mapping[str, str]]:
            return [str(sanitizer), "--tool", tool, "--log-file", str(log), *program], {}

        return command

    return [
        Sanitizer(tool, watched, compiled_in=False, command=command_of(tool)) for tool in _TOOLS
    ]
