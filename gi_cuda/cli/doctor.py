"""``gi-cuda doctor``: what is there to compile and run variants with, and what is missing."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from pathlib import Path

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from gi_cuda.backends.cuda import Driver, Toolkit, find_toolkit, query
from gi_cuda.backends.cuda.imports.llvm import INSTALL
from gi_cuda.backends.host import find_compiler
from gi_cuda.cli.console import console
from gi_cuda.errors import UserError
from gi_cuda.report.tables import print_table, say


class Purpose(StrEnum):
    """What a tool is for."""

    HOST = "host"
    CUDA = "cuda"
    OPTIONAL = "optional"


@dataclass(frozen=True, slots=True)
class Examined:
    """What became of looking for one thing.

    Attributes:
        what: its name.
        need: which back end cannot do without it, if one cannot.
        found: version and place; None where it is missing.
        hint: for what is missing, why it is or what it would be good for, and what to do.
    """

    what: str
    need: Purpose
    found: str | None
    hint: str = ""


def command() -> None:
    """Say what was found of compilers, driver, devices and tools, and how to install the rest.

    Ends with status 0 if at least one back end can be used, else with 1."""
    findings = list(examine())
    print_table(console, table(findings))
    usable = usable_backends(findings)
    for backend in (Purpose.HOST, Purpose.CUDA):
        word = "ready" if backend in usable else "not usable: see above"
        say(console, f"backend {backend}: {word}")
    if not usable:
        raise typer.Exit(1)


def usable_backends(findings: list[Examined]) -> list[Purpose]:
    """The back ends that miss nothing they need."""
    lacking = {finding.need for finding in findings if finding.found is None}
    return [backend for backend in (Purpose.HOST, Purpose.CUDA) if backend not in lacking]


def examine() -> Iterator[Examined]:
    """Look for everything; nothing that goes wrong on the way stops it."""
    yield _guarded("C++ compiler", Purpose.HOST, _host_compiler)
    yield _guarded("CUDA compiler", Purpose.CUDA, lambda: _nvcc(find_toolkit()))
    driver = query()
    yield Examined(
        "NVIDIA driver",
        Purpose.CUDA,
        f"for CUDA {driver.version}" if driver.version else None,
        "install it from your distribution (https://www.nvidia.com/drivers)",
    )
    yield from _devices(driver)
    yield _guarded("PyCUDA", Purpose.CUDA, _pycuda)
    yield _tool("nvdisasm", "counts instructions", "pip install nvidia-cuda-nvdisasm")
    yield _tool(
        "compute-sanitizer", "validates memory accesses", "pip install nvidia-cuda-sanitizer-api"
    )
    yield Examined(
        "llvmlite", Purpose.OPTIONAL, _installed("llvmlite"), f"reads LLVM-IR; {INSTALL}"
    )


def _guarded(what: str, need: Purpose, look: Callable[[], str]) -> Examined:
    try:
        return Examined(what, need, look())
    except UserError as error:
        return Examined(what, need, None, f"{error.what}; {error.hint}")
    except (OSError, subprocess.SubprocessError) as error:
        return Examined(what, need, None, f"it is there but fails: {error}")


def _host_compiler() -> str:
    compiler = find_compiler()
    return f"{_first_line([compiler, '--version'])} ({compiler})"


def _nvcc(toolkit: Toolkit) -> str:
    return f"nvcc {toolkit.version} ({toolkit.nvcc}, from {toolkit.origin})"


def _devices(driver: Driver) -> Iterator[Examined]:
    if not driver.gpus:
        hint = f"{driver.trouble}; without one use --backend host"
        yield Examined("GPU", Purpose.CUDA, None, hint)
    for number, gpu in enumerate(driver.gpus):
        major, minor = gpu.capability
        yield Examined(
            f"GPU {number}",
            Purpose.CUDA,
            f"{gpu.name}: compute capability {major}.{minor},"
            f" {gpu.memory / 2**30:.0f} GiB, {gpu.multiprocessors} multiprocessors",
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
    return Examined(name, Purpose.OPTIONAL, str(path) if path else None, f"{use}; {install}")


def _installed(package: str) -> str | None:
    """The version of a Python package; None where it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _first_line(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=20)
    return done.stdout.partition("\n")[0].strip()


def table(findings: list[Examined]) -> Table:
    """The findings: what is there, or what to do about it."""
    rows = Table(pad_edge=False, box=SIMPLE_HEAD)
    for title in ("", "for", "found"):
        rows.add_column(title, overflow="fold")
    for finding in findings:
        # Text, since messages may hold what looks like markup.
        said = finding.found or f"missing: {finding.hint}"
        rows.add_row(finding.what, str(finding.need), Text(said))
    return rows
