"""What tests of ``init`` share."""

from __future__ import annotations

import math

import pytest

from gi_cuda.evaluate import copies
from tests.command import with_little_data


@pytest.fixture(autouse=True)
def little_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases for a GPU that take a processor no time: they are looked at in ``trial``. Launches of
    some microseconds are then noisy where other tests run, and that is no matter here."""
    with_little_data(monkeypatch.setattr)
    monkeypatch.setattr(copies, "MOST_FLOOR", math.inf)
