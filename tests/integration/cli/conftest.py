"""Fixtures for tests of the command line."""

from __future__ import annotations

import pytest

from gi_cuda.backends.cuda.driver import query


@pytest.fixture
def no_gpu() -> None:
    """Skip the test if there is a GPU."""
    if query().gpus:
        pytest.skip("there is a GPU, so the cuda back end can be used")
