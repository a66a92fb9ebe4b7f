"""Tests with a real nvcc; they need no GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import gi_cuda.cli.search.evolve
import gi_cuda.runs.tools
from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.subject import Subject
from tests.command import in_few_processes

from .planted import SCALE, SOURCE_WINNER, Searched, a_run, planted, search_from
from .pretended import PretendedBackend, PretendedPool


@contextmanager
def pretended() -> Iterator[None]:
    """Direct runs to a simulated GPU, in this process alone.

    It measures all builds alike, so few builds are made.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gi_cuda.runs.tools, "open_backend", lambda *_: PretendedBackend())
        patch.setattr(gi_cuda.cli.search.evolve, "open_backend", lambda *_: PretendedBackend())
        patch.setattr(gi_cuda.runs.tools, "Pool", PretendedPool)
        in_few_processes(patch.setattr)
        yield


@pytest.fixture
def gpu() -> Iterator[None]:
    """Direct runs of a test to a simulated GPU."""
    with pretended():
        yield


@pytest.fixture(scope="session")
def scale_source(toolkit: Toolkit) -> Subject:
    """Return the small target."""
    return open_subject(SCALE, "cuda")


@pytest.fixture(scope="session")
def scale_ptx(toolkit: Toolkit) -> Subject:
    """Return the PTX of the small target."""
    return open_subject(SCALE, "cuda", "ptx")


@pytest.fixture(scope="session")
def planted_run(scale_ptx: Subject, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run on PTX with a planted winner; tests that write to it copy it."""
    with pretended():
        folder = tmp_path_factory.mktemp("planted") / "run"
        return a_run(scale_ptx, folder, str(planted(scale_ptx)))


@pytest.fixture(scope="session")
def of_source(scale_source: Subject, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run on the source with a planted winner."""
    with pretended():
        return a_run(scale_source, tmp_path_factory.mktemp("of") / "source", SOURCE_WINNER)


@pytest.fixture(scope="session")
def searched(of_source: Path, tmp_path_factory: pytest.TempPathFactory) -> Searched:
    """Return a search on PTX from that winner; tests that write to it copy it."""
    with pretended():
        return search_from(of_source, tmp_path_factory.mktemp("searched"))
