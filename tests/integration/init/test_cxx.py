"""C++ as in public code, from ``gi-cuda init`` to a reference that passes.

Random edits of each source compile, on the host and with nvcc if it is installed.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gi_cuda.backends.table import open_compiler
from gi_cuda.cli import app
from gi_cuda.evaluate.sampling import draw, try_out
from gi_cuda.subject import load_subject
from tests.integration.init.proposing import passes
from tests.sweeps import sweep

SOURCES = Path(__file__).parent / "sources" / "cxx"
NAMES = sorted(path.stem for path in SOURCES.glob("*.cu"))
KEPT = ("conditions", "shared_types")
"""Code that the preprocessor chooses, and types that only an instance of a template says."""

DRAWN = 12

nvcc = pytest.mark.skipif(shutil.which("nvcc") is None, reason="needs nvcc")


@pytest.fixture(scope="module", params=sweep(NAMES, *KEPT))
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The target that init writes for a source, with nothing said of it."""
    folder = tmp_path_factory.mktemp(request.param) / "target"
    words = ["init", str(SOURCES / f"{request.param}.cu"), "--output", str(folder)]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return folder


def test_the_reference_passes(target: Path, tmp_path: Path) -> None:
    passes(target, tmp_path)


@pytest.mark.parametrize("backend", ["host", pytest.param("cuda", marks=nvcc)])
def test_its_random_edits_compile(target: Path, backend: str, tmp_path: Path) -> None:
    """Only a compiler tells whether edits of such sources are C++ still. With headers of Thrust,
    which ``tables`` includes, nvcc takes 17 s."""
    subject = load_subject(target, backend, edits="full")
    drawn = list(draw(subject, DRAWN, 1, seed=1))
    trials = try_out(subject, open_compiler(subject, 1), drawn, tmp_path)
    assert trials.failed == {}
