"""Verdicts of `gi-cuda judge` on a rewritten kernel, and their exit statuses."""

from __future__ import annotations

from enum import StrEnum


class Status(StrEnum):
    """Verdict on a rewritten kernel compared with its original."""

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
"""Exit status of `gi-cuda judge` for each verdict; 2 is reserved for errors of usage."""
