"""Tests that need a GPU. Without one, all of them are skipped, by this file alone."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler
from gi_cuda.backends.cuda.toolkit import find_toolkit
from gi_cuda.backends.protocol.variants import BuildFailure, Variant
from gi_cuda.errors import UserError
from gi_cuda.spec import View

HERE = Path(__file__).parent

# Asked in a process of its own: one that has spoken to the driver can fork no workers.
_QUERY = """
import sys
from gi_cuda.backends.cuda.driver import require_gpus
from gi_cuda.errors import UserError
from gi_cuda.spec import View
from gi_cuda.backends.cuda.device.context import pycuda
try:
    pycuda()
    print(require_gpus()[0].architecture)
except UserError as error:
    sys.exit(error.what)
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip all tests of this folder if they cannot run."""
    mine = [item for item in items if HERE in item.path.parents]
    reason = _trouble() if mine else None
    if reason:
        for item in mine:
            item.add_marker(pytest.mark.skip(reason=reason))


def _trouble() -> str | None:
    """Return the reason why these tests cannot run; None if they can."""
    try:
        find_toolkit()
    except UserError as error:
        return error.what
    done = subprocess.run([sys.executable, "-c", _QUERY], capture_output=True, text=True)
    return done.stderr.strip().splitlines()[-1] if done.returncode else None


@dataclass(frozen=True)
class Outcome:
    """Result of a launch.

    Attributes:
        status: exit status of the process that launched.
        report: the end of its output.
        error: the reason why the launch was refused, or empty.
        outputs: the buffers after the launch.
        damaged: guard zones that were written to.
        fates: faults that confined code would have had without confinement.
    """

    status: int
    report: str
    error: str = ""
    outputs: Mapping[str, np.ndarray] = field(default_factory=dict)
    damaged: Sequence[str] = ()
    fates: Sequence[str] = ()

    @property
    def fate(self) -> str:
        """Return the first fate, or an empty text."""
        return next(iter(self.fates), "")


class Cuda:
    """A device that runs a kernel ``k``, each launch in a process of its own that may die."""

    def __init__(self, folder: Path, architecture: str) -> None:
        nvcc = str(find_toolkit().nvcc)
        self.compiler = NvccCompiler(
            nvcc=nvcc,
            architecture=architecture,
            file_name="kernel.cu",
            front="",
            options=("-std=c++17",),
            jobs=1,
        )
        self.folder = folder

    def run(
        self,
        text: str,
        arguments: Mapping[str, np.ndarray | np.generic],
        grid: Sequence[int],
        block: Sequence[int],
        *,
        shared: int = 0,
        limit: float = 20.0,
        symbols: Mapping[str, np.ndarray] | None = None,
        textures: Mapping[str, tuple[str, int, bool] | View] | None = None,
        way: int | None = None,
        unwritten: Sequence[str] = (),
    ) -> Outcome:
        """Compile the text and launch its kernel with these arguments, in order.

        The contents of arguments that are only written are not copied to the device.

        Args:
            arguments: by name. The names of textures and surfaces describe them: views, and for
                linear
                memory the component's type, the components of a texel, and whether they are
                normalized.
            way: a way to confine the code; None for unconfined code.
        """
        compiler = self.compiler if way is None else self.compiler.rehearsing()[way]
        (built,) = build_batch(compiler, [Variant(0, text, {})], self.folder).values()
        if isinstance(built, BuildFailure):
            raise RuntimeError(built.message)
        job: dict[str, Any] = {
            "binary": built,
            "arguments": dict(arguments),
            "grid": (*grid, 1, 1)[:3],
            "block": (*block, 1, 1)[:3],
            "shared": shared,
            "limit": limit,
            "symbols": dict(symbols or {}),
            "textures": dict(textures or {}),
            "unwritten": frozenset(unwritten),
        }
        done = subprocess.run(
            [sys.executable, HERE / "child.py"], input=pickle.dumps(job), capture_output=True
        )
        report = done.stderr.decode()
        if done.returncode:
            return Outcome(done.returncode, report)
        return Outcome(0, report, **pickle.loads(done.stdout))


@pytest.fixture(scope="session")
def architecture() -> str:
    """Return the architecture that nvcc compiles for."""
    done = subprocess.run([sys.executable, "-c", _QUERY], capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def host(tmp_path: Path, architecture: str) -> Cuda:
    """Return the device, under the name that the conformance tests use for the host runtime."""
    return Cuda(tmp_path, architecture)


@pytest.fixture
def cuda(host: Cuda) -> Cuda:
    """Return the device."""
    return host
