"""Fixtures for tests of ``init``."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.command import with_little_data


@pytest.fixture(scope="module", autouse=True)
def little_data() -> Iterator[None]:
    """Make ``init`` propose small cases for a GPU; tests in ``trial`` cover their sizes.

    The fixture acts before the targets that tests of a module share are made.
    """
    with pytest.MonkeyPatch.context() as patch:
        with_little_data(patch.setattr)
        yield
