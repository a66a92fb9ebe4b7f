"""Verdicts of the referee on a rewritten kernel."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """One word for a rewrite beside its original."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    INCONCLUSIVE = "inconclusive"
    INCORRECT = "incorrect"
    INVALID = "invalid"
    UNVERIFIED = "unverified"


EXIT_STATUS = {
    Status.FASTER: 0,
    Status.SLOWER: 0,
    Status.SAME: 0,
    Status.INCORRECT: 1,
    Status.INVALID: 3,
    Status.UNVERIFIED: 4,
    Status.INCONCLUSIVE: 5,
}
"""Exit statuses of `gi-cuda judge`; 2 is a mistake of the user."""
