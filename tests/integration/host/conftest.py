"""Real kernels, really compiled, each run in a process of its own that may crash."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.host import (
    COMPILE_OPTIONS,
    INCLUDE,
    build_library,
    find_compiler,
    prepare,
    variant_text,
)

CHILD = Path(__file__).parent / "child.py"


@dataclass(frozen=True)
class Outcome:
    """How the child ended.

    Attributes:
        status: as in ``subprocess``: negative for a signal.
        report: what the runtime wrote before a signal.
        error: kind and message of a LaunchError, or empty.
        outputs: the buffers after the launch.
        switches: fibre switches of the launch.
    """

    status: int
    report: str
    error: str = ""
    outputs: Mapping[str, np.ndarray] = field(default_factory=dict)
    switches: int = 0


class Host:
    """Compiles and launches; ``backwards``, the last thread of the last block runs first."""

    def __init__(self, folder: Path, library: Path, *, backwards: bool = False) -> None:
        self.folder = folder
        self.library = library
        self.backwards = backwards

    def compile(
        self,
        text: str,
        kernels: Sequence[str],
        symbols: Sequence[str] = (),
        prelude: str = "",
        exports: Sequence[str] = (),
        name: str = "batch",
    ) -> Path:
        """The text as a shard; RuntimeError with the compiler's messages if it does not compile."""
        source, shard = self.folder / f"{name}.cpp", self.folder / f"{name}.so"
        body = variant_text("v0", prepare(text), kernels, symbols)
        lines = [prelude, '#include "gi_cuda_host.hpp"', body, *exports, ""]
        source.write_text("\n".join(lines))
        command = [find_compiler(), *COMPILE_OPTIONS, "-O2", f"-I{INCLUDE}", str(source)]
        done = subprocess.run([*command, "-o", str(shard)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return shard

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
        textures: Mapping[str, tuple[str, int, bool]] | None = None,
        exports: Sequence[str] = (),
    ) -> Outcome:
        """Compiles the text and launches its kernel k with these arguments, in order.

        Textures are told by their arguments' names: a component's type, the components of a texel,
        whether they are normalized.
        """
        kernels = [] if exports else ["k"]
        job = {
            "library": self.library,
            "shard": self.compile(text, kernels, list(symbols or ()), exports=exports),
            "arguments": dict(arguments),
            "grid": tuple(grid),
            "block": tuple(block),
            "shared": shared,
            "limit": limit,
            "symbols": dict(symbols or {}),
            "textures": dict(textures or {}),
            "backwards": self.backwards,
        }
        done = subprocess.run(
            [sys.executable, str(CHILD)], input=pickle.dumps(job), capture_output=True, check=False
        )
        report = done.stderr.decode()
        if done.returncode:
            return Outcome(done.returncode, report)
        answer = pickle.loads(done.stdout)
        return Outcome(0, report, **answer)


@pytest.fixture(scope="session")
def library() -> Path:
    # The one that other tests of this process load as well: a process has only one.
    return build_library()


@pytest.fixture
def host(request: pytest.FixtureRequest, tmp_path: Path, library: Path) -> Host:
    return Host(tmp_path, library, backwards=getattr(request, "param", False))
