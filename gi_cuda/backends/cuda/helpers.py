"""The tool's own kernels (``helpers.cu``), compiled once per machine, toolkit and architecture."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import xxhash

from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.host.library import cache_folder
from gi_cuda.errors import UserError

SOURCE = Path(__file__).parent / "helpers.cu"


def build_helpers(toolkit: Toolkit, architecture: str, cache: Path | None = None) -> Path:
    """Path of the cubin, compiled if the cache does not have it.

    Any number of processes may do this at once: each writes a file of its own, and renaming is
    atomic.

    Args:
        toolkit: with the nvcc to use.
        architecture: e.g. ``sm_90``.
        cache: folder for it, by default the user's cache folder.

    Raises:
        UserError: nvcc fails, or the cache cannot be written.
    """
    folder = cache or cache_folder()
    cubin = folder / f"cuda-{architecture}-{_key(toolkit)}.cubin"
    if cubin.exists():
        return cubin
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix="cuda-") as scratch:
            fresh = Path(scratch) / cubin.name
            command = [str(toolkit.nvcc), "-O3", f"-arch={architecture}", "-objtemp", "-cubin"]
            command += ["-o", str(fresh), str(SOURCE)]
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", check=False
            )
            if done.returncode:
                raise UserError(
                    f"nvcc fails with status {done.returncode}: {done.stderr.strip()}",
                    where=" ".join(command),
                    hint="see `gi-cuda doctor`",
                )
            os.replace(fresh, cubin)
    except OSError as error:
        raise UserError(
            f"the cache folder cannot be written: {error.strerror}",
            where=str(folder),
            hint="set XDG_CACHE_HOME to a folder that can",
        ) from error
    return cubin


def _key(toolkit: Toolkit) -> str:
    digest = xxhash.xxh3_64(SOURCE.read_bytes())
    nvcc = toolkit.nvcc.resolve()
    digest.update(f"{nvcc} {nvcc.stat().st_mtime_ns}".encode())
    return digest.hexdigest()
