"""Compile the tool's own kernels (``helpers.cu``) once per machine, toolkit and architecture."""

from __future__ import annotations

from pathlib import Path

import xxhash

from gi_cuda.backends.compile.caching.cache import cached, output_of
from gi_cuda.backends.cuda.toolkit import Toolkit

SOURCE = Path(__file__).parent / "helpers.cu"

_FILES = SOURCE, SOURCE.parent.parent / "protocol" / "agreement.hpp"


def build_helpers(toolkit: Toolkit, architecture: str, cache: Path | None = None) -> Path:
    """Return the path of the cubin. Compile it if the cache does not have it.

    Args:
        toolkit: toolkit with the nvcc to use.
        architecture: e.g. ``sm_90``.
        cache: folder for the cubin, by default the user's cache folder.

    Raises:
        UserError: nvcc fails, or the cache cannot be written.
    """

    def compile_helpers(cubin: Path) -> None:
        command = [str(toolkit.nvcc), "-O3", f"-arch={architecture}", "-objtemp", "-cubin"]
        command += ["-o", str(cubin), str(SOURCE)]
        output_of(command, "nvcc", "see `gi-cuda doctor`")

    return cached(f"cuda-{architecture}-{_key(toolkit)}.cubin", compile_helpers, cache)


def _key(toolkit: Toolkit) -> str:
    digest = xxhash.xxh3_64(b"".join(path.read_bytes() for path in _FILES))
    nvcc = toolkit.nvcc.resolve()
    digest.update(f"{nvcc} {nvcc.stat().st_mtime_ns}".encode())
    return digest.hexdigest()
