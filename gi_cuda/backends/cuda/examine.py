"""Checks of ``gi-cuda doctor`` for GPUs: nvcc, driver, devices, PyCUDA, optional tools."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from gi_cuda.backends.cuda.driver import Driver, query
from gi_cuda.backends.cuda.llvm.clang import find_clang
from gi_cuda.backends.cuda.toolkit import find_toolkit
from gi_cuda.backends.protocol.backend import Examined, examined
from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.llvm.syntax import INSTALL


def examine() -> Iterator[Examined]:
    """Look for everything that the back end uses. Errors do not stop it."""
    yield examined("CUDA compiler", _nvcc)
    driver = query()
    yield Examined(
        "NVIDIA driver",
        f"for CUDA {driver.version}" if driver.version else None,
        "install it from your distribution (https://www.nvidia.com/drivers)",
    )
    yield from _devices(driver)
    yield examined("PyCUDA", _pycuda)
    yield _tool("nvdisasm", "counts instructions", "pip install nvidia-cuda-nvdisasm")
    yield _tool(
        "compute-sanitizer", "validates memory accesses", "pip install nvidia-cuda-sanitizer-api"
    )
    yield Examined("llvmlite", _installed("llvmlite"), f"reads LLVM-IR; {INSTALL}", optional=True)
    yield replace(examined("clang", _clang), optional=True)


def _nvcc() -> str:
    toolkit = find_toolkit()
    return f"nvcc {toolkit.version} ({toolkit.nvcc}, from {toolkit.origin})"


def _clang() -> str:
    clang = find_clang()
    return f"clang {clang.version} ({clang.words[0]})"


def _devices(driver: Driver) -> Iterator[Examined]:
    if not driver.gpus:
        yield Examined("GPU", None, f"{driver.trouble}; without one use --backend host")
    for number, gpu in enumerate(driver.gpus):
        major, minor = gpu.capability
        yield Examined(
            f"GPU {number}",
            f"{gpu.name}: compute capability {major}.{minor},"
            f" {gpu.memory / 2**30:.0f} GiB, {gpu.multiprocessors} multiprocessors at up to"
            f" {gpu.clock} MHz",
        )


def _pycuda() -> str:
    if importlib.util.find_spec("pycuda") is None:
        raise UserError("not installed", hint="pip install 'gi-cuda[cuda]'")
    try:
        import pycuda.driver
    except ImportError as error:
        raise UserError(
            f"installed, but it cannot be loaded: {error}",
            hint="it needs the NVIDIA driver, and a build for this toolkit:"
            " pip install --force-reinstall --no-binary pycuda pycuda",
        ) from None
    built = ".".join(map(str, pycuda.driver.get_version()))
    return f"{metadata.version('pycuda')}, built with CUDA {built}"


def _tool(name: str, use: str, install: str) -> Examined:
    try:
        path = find_toolkit().tool(name)
    except UserError:
        found = shutil.which(name)
        path = Path(found) if found else None
    return Examined(name, str(path) if path else None, f"{use}; {install}", optional=True)


def _installed(package: str) -> str | None:
    """Return the version of a Python package; None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
