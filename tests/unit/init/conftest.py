"""Small sources, read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gi_cuda.grammar.frontends.cuda.code import Code, read_code

Reader = Callable[[str], Code]


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    def read(text: str) -> Code:
        path = tmp_path / "k.cu"
        path.write_text(text)
        return read_code(path)

    return read
