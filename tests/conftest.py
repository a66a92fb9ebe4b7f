"""Fixtures and hooks for all tests."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.subject import Subject, load_subject
from tests.command import in_few_processes
from tests.noting import copy_that_notes

TARGETS = Path(__file__).parent / "targets"
SHIPPED = Path(__file__).parent.parent / "targets"

OWN_CACHE = "GI_CUDA_TEST_CACHE"
"""The variable that names the cache of one run of the tests, which all its processes share."""

if OWN_CACHE not in os.environ:
    # What is compiled once is compiled once for all tests, and nothing of the user's is found.
    _cache = tempfile.TemporaryDirectory(prefix="gi-cuda-tests-")
    os.environ[OWN_CACHE] = os.environ["XDG_CACHE_HOME"] = _cache.name
    os.environ["GI_CUDA_CACHE_SIZE"] = "1G"

# Tests start hundreds of Python processes: these keep the modules that they compile.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Tests are of the CPU where they name nothing else; those in tests/gpu do.
os.environ["GI_CUDA_BACKEND"] = "host"

# How long an example takes says nothing about it: the machine may be busy.
settings.register_profile("any machine", deadline=None, max_examples=60)
settings.load_profile("any machine")


def pytest_collection_finish() -> None:
    """Exclude all objects that exist before the tests from garbage collection, to save time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def scale() -> Subject:
    """Return the small target ``scale``."""
    return load_subject(TARGETS / "scale", "host")


@pytest.fixture(scope="module")
def scale_tools(scale: Subject, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    """Yield compiler and workers for ``scale``."""
    folder = tmp_path_factory.mktemp("scale")
    with open_tools(scale, folder, workers=2, jobs=2) as tools:
        yield tools


@pytest.fixture
def noting(tmp_path: Path) -> Path:
    """Return a copy of ``scale`` that records which cases are made."""
    return copy_that_notes(tmp_path)


@pytest.fixture
def few_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make validations and comparisons use few processes, for tests that need no narrow intervals.

    Wrong variants are still detected, and gains are certified sooner.
    """
    in_few_processes(monkeypatch.setattr)
