"""Small sources, read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gi_cuda.grammar.frontends.cuda.file import CudaFile, read_cuda_file

Reader = Callable[[str], CudaFile]


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    def read(text: str) -> CudaFile:
        path = tmp_path / "k.cu"
        path.write_text(text)
        return read_cuda_file(path)

    return read
