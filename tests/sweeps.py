"""Sweeps: tests of many inputs, of which ``make test`` runs a few."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

broad = pytest.mark.broad
"""Marks a test that ``make test-all`` alone runs."""


def sweep(values: Iterable[Any], *kept: Any) -> list[Any]:
    """Return the values of a parameter, all but those kept marked for ``make test-all``.

    A value that is a tuple is the values of several parameters, as in ``pytest.mark.parametrize``.
    """
    return [one if one in kept else _marked(one) for one in values]


def _marked(value: Any) -> Any:
    several = value if type(value) is tuple else (value,)
    return pytest.param(*several, marks=broad)
