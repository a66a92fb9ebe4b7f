"""Prepare compilers of sources with their headers, complete and reduced to what variants reach."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.backends.compile.preprocess import prelude
from gi_cuda.backends.compile.pruning.namespaces import namespaces
from gi_cuda.backends.compile.pruning.prune import identifiers
from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler
from gi_cuda.backends.cuda.compile.staged import ShardSetup
from gi_cuda.backends.cuda.toolkit import Toolkit


def compiler_of(toolkit: Toolkit, text: str, folder: Path) -> NvccCompiler:
    return NvccCompiler(
        nvcc=str(toolkit.nvcc),
        architecture="sm_90",
        file_name="kernel.cu",
        front=prelude(text),
        options=("-std=c++17", f"-I{folder}"),
        jobs=2,
        namespaces=namespaces(text),
        names=identifiers(text),
    )


def preludes(
    compiler: NvccCompiler, options: tuple[str, ...] = ()
) -> tuple[ShardSetup, ShardSetup]:
    """Return the setup with all headers, and the one with the part that is reached."""
    whole = compiler.prepared(options)
    assert whole is not None
    return whole, whole.within_reach_of(compiler.names)
