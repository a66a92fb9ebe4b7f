"""Tests of the host back end that hold in every order of threads."""

from __future__ import annotations

import pytest

from gi_cuda.backends.protocol.schedules import Schedule


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that uses `host` in every order of threads."""
    if "host" in metafunc.fixturenames:
        orders = [None, *Schedule]
        metafunc.parametrize("host", orders, ids=lambda one: str(one or "natural"), indirect=True)
