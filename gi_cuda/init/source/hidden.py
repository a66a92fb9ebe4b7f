"""Report kernels under an ``#if`` that does not hold, with the macros to define."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, KernelSource, kernels
from gi_cuda.init.build.compilation import Compilation
from gi_cuda.init.source.conditions import macros_asked, what_to_define, written
from gi_cuda.init.source.sources import read_whole


def check_kernels(path: Path, built: Compilation) -> None:
    """Refuse a source with kernels none of which is compiled.

    Args:
        built: its compiler options.

    Raises:
        UserError: all kernels stand under conditions that do not hold.
    """
    if kernels(read_whole(path, built)):
        return
    whole = read_whole(path, replace(built, compiled={}))
    if every := kernels(whole):
        raise _nothing_compiled(whole, every[0])


def _nothing_compiled(code: CudaFile, kernel: KernelSource) -> UserError:
    at = kernel.definition.node.start_byte
    conditions = [*code.presence.conditions(code.presence.region(at))]
    names = macros_asked(" ".join(one.rest for one in conditions))
    hint = what_to_define(names) if names else "take it out from there, or name another file"
    return UserError(
        f"no kernel of this file is compiled: {kernel.shown} stands under {written(conditions)}",
        where=code.where(kernel.definition.node),
        hint=hint,
    )
