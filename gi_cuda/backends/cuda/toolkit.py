"""Find nvcc: on PATH, in the toolkit's usual folders, or in its pip packages."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from gi_cuda.backends.compile.process import run
from gi_cuda.errors import UserError

PACKAGES = {
    "nvidia-cuda-nvcc": "bin/nvcc",
    "nvidia-nvvm": "nvvm/bin/cicc",
    "nvidia-cuda-crt": "include/crt/host_config.h",
    "nvidia-cuda-runtime": "include/cuda_runtime.h",
    "nvidia-cuda-cccl": "include/cccl/cuda",
}
"""The pip packages that make up a compiler, each with a file that only this package has."""

INSTALL = f"pip install {' '.join(PACKAGES)}"
"""Command that installs a compiler without a system-wide toolkit."""


HEADERS = re.compile(
    r"cu(?:da|rand|blas|sparse|fft|solver|tensor|dnn|pti|pip)\w*(?:\.h|/)"
    r"|(?:thrust|cub|nv|cuda|nvtx3|crt)/|cooperative_groups|mma\.h|nvToolsExt|nvrtc|nvml|npp"
    r"|texture_|surface_|vector_|device_|driver_|sm_\d|math_constants|math_functions|cuComplex"
    r"|channel_descriptor|library_types"
)
"""Names of headers that come with CUDA's toolkit."""

_INCLUDES = re.compile(r'"?-(?:I|isystem"? ")([^"\s]+)"')
"""Include folders in the output of nvcc's dry run."""

LIMIT = 60.0
"""Seconds of wall time in which nvcc has to report its version or folders."""

_USUAL = Path("/usr/local/cuda")


@dataclass(frozen=True)
class Toolkit:
    """An nvcc that can be used.

    Attributes:
        nvcc: its path.
        origin: description of where it was found.
    """

    nvcc: Path
    origin: str

    @cached_property
    def version(self) -> str:
        """Release and build, e.g. ``13.0.88``; "" if nvcc does not report it."""
        said = run([self.nvcc, "--version"], limit=LIMIT)
        found = re.search(r"\bV(\d+(?:\.\d+)+)", said.stdout)
        return found[1] if found else ""

    def tool(self, name: str) -> Path | None:
        """Return the path of another CUDA program, e.g. nvdisasm or compute-sanitizer.

        It is searched beside nvcc, in pip packages, then on PATH.
        """
        packaged = [root / "bin" for root in _pip_roots()]
        for folder in (self.nvcc.parent, self.nvcc.resolve().parent, *packaged):
            if os.access(folder / name, os.X_OK):
                return folder / name
        found = shutil.which(name)
        return Path(found) if found else None


@cache
def header_folders() -> tuple[Path, ...] | None:
    """Return the installed toolkit's include folders; None if no toolkit is installed."""
    try:
        nvcc = find_toolkit().nvcc
    except UserError:
        return None
    said = run([nvcc, "--dryrun", "-E", "-x", "cu", os.devnull], limit=LIMIT)
    folders = dict.fromkeys(Path(name).resolve() for name in _INCLUDES.findall(said.stderr))
    return tuple(folder for folder in folders if folder.is_dir()) or None


def brings_header(name: str) -> bool:
    """Tell whether a header comes with CUDA's toolkit: the installed one, or else any."""
    folders = header_folders()
    if folders is None:
        return HEADERS.match(name) is not None
    return any((folder / name).is_file() for folder in folders)


def find_toolkit(environment: Mapping[str, str] | None = None) -> Toolkit:
    """Return the first nvcc in: PATH, ``$CUDA_HOME``, ``$CUDA_PATH``, /usr/local/cuda, pip.

    Raises:
        UserError: there is none, its pip packages are incomplete, or gcc, which it needs to
            preprocess, is missing.
    """
    environment = os.environ if environment is None else environment
    path = environment.get("PATH", "")
    toolkit = next(_candidates(environment, path), None)
    if toolkit is None:
        raise UserError(
            "no CUDA compiler found: nvcc is neither on PATH nor in CUDA_HOME, CUDA_PATH,"
            " /usr/local/cuda or pip packages",
            hint=f"install the CUDA toolkit, or `{INSTALL}`",
        )
    if not shutil.which("gcc", path=path):
        raise UserError(
            "nvcc has no host compiler to preprocess with: gcc is not on PATH",
            where=str(toolkit.nvcc),
            hint="install it, e.g. `apt install g++`",
        )
    return toolkit


def _candidates(environment: Mapping[str, str], path: str) -> Iterator[Toolkit]:
    if found := shutil.which("nvcc", path=path):
        yield Toolkit(Path(found), "PATH")
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if folder := environment.get(variable):
            yield from _inside(Path(folder), variable)
    yield from _inside(_USUAL, str(_USUAL))
    for root in _pip_roots():
        yield from _packaged(root)


def _inside(folder: Path, origin: str) -> Iterator[Toolkit]:
    if os.access(folder / "bin" / "nvcc", os.X_OK):
        yield Toolkit(folder / "bin" / "nvcc", origin)


def _pip_roots() -> Iterator[Path]:
    """Yield ``nvidia/cu13`` and similar folders, newest first."""
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        yield from sorted(Path(place).glob("cu[0-9]*"), reverse=True)


def _packaged(root: Path) -> Iterator[Toolkit]:
    missing = [name for name, file in PACKAGES.items() if not (root / file).exists()]
    if "nvidia-cuda-nvcc" in missing:
        return
    if missing:
        raise UserError(
            f"the pip package nvidia-cuda-nvcc alone does not compile: {', '.join(missing)}"
            f" {'is' if len(missing) == 1 else 'are'} missing",
            where=str(root),
            hint=f"pip install {' '.join(missing)}",
        )
    yield from _inside(root, "pip packages")
