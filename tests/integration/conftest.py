"""Fixtures with a real nvcc, for tests that need no GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler
from gi_cuda.backends.cuda.toolkit import Toolkit, find_toolkit
from gi_cuda.backends.protocol.variants import BuildFailure, Built, Variant
from gi_cuda.errors import UserError


@pytest.fixture(scope="session")
def toolkit() -> Toolkit:
    """Return the CUDA toolkit, or skip the test with the reason."""
    try:
        return find_toolkit()
    except UserError as error:
        pytest.skip(error.what)


class Nvcc:
    """A compiler of batches of sources."""

    def __init__(self, toolkit: Toolkit, folder: Path) -> None:
        self.toolkit = toolkit
        self.folder = folder
        self.compiler = NvccCompiler(
            nvcc=str(toolkit.nvcc),
            architecture="sm_90",
            file_name="kernel.cu",
            front="#include <stdint.h>\n",
            options=("-std=c++17",),
            jobs=2,
        )

    def build(
        self, texts: list[str], options: tuple[str, ...] = (), **macros: str
    ) -> dict[int, Built]:
        """Compile texts as variants 1, 2, ..."""
        variants = [Variant(i, text, macros, options) for i, text in enumerate(texts, 1)]
        return build_batch(self.compiler, variants, self.folder)

    def binaries(self, texts: list[str], options: tuple[str, ...] = ()) -> list[CudaBinary]:
        """Compile texts, all of which must succeed."""
        built = self.build(texts, options)
        failures = [one.message for one in built.values() if isinstance(one, BuildFailure)]
        assert not failures
        return [one for _, one in sorted(built.items()) if isinstance(one, CudaBinary)]


@pytest.fixture
def nvcc(toolkit: Toolkit, tmp_path: Path) -> Nvcc:
    """Return a compiler with a folder of its own."""
    return Nvcc(toolkit, tmp_path)
