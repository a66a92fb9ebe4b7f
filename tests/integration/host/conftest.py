"""A compiler, a runtime, and children to run kernels in."""

from __future__ import annotations

from pathlib import Path

import pytest
from hosting import Host

from gi_cuda.host import build_library


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_library(cache=tmp_path_factory.mktemp("cache"))


@pytest.fixture
def host(tmp_path: Path, library: Path) -> Host:
    return Host(tmp_path, library)
