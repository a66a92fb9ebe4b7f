"""What tests of ``init`` share."""

from __future__ import annotations

import pytest

from tests.command import with_little_data


@pytest.fixture(autouse=True)
def little_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases for a GPU that take a processor no time: they are looked at in ``trial``."""
    with_little_data(monkeypatch.setattr)
