"""Small parsed sources."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gi_cuda.grammar.frontends.cuda.declarations.element_types import read_element_types
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, kernels, read_cuda_file
from gi_cuda.init.host.host import KnownNames, read_host_code
from gi_cuda.init.host.launching import LaunchSite, launch_sites

Reader = Callable[[str], CudaFile]
KERNEL = "#define BLOCK 64\n__global__ void k(float *a, int n, float s) { }\n"


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    def read(text: str) -> CudaFile:
        path = tmp_path / "k.cu"
        path.write_text(text)
        return read_cuda_file(path)

    return read


def launch(read: Callable[[str], CudaFile], host: str, kept: str = "") -> LaunchSite:
    """Return the only launch of a kernel in some host code."""
    code = read(KERNEL + host)
    types = read_element_types([code])
    (use,) = launch_sites(
        read_host_code(code), kernels(code)[0], types, KnownNames(kept=frozenset(kept.split()))
    )
    return use
