"""Findings from compiling one variant alone: warnings, and names that its code needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Examination:
    """Findings about one variant; all empty if the compiler reports none or cannot compile it.

    Attributes:
        unset: locals that are read though nothing can have set them.
        perhaps_unset: locals that are read and may or may not be set.
        foreign: uses of functions and variables that no device has, e.g. ``getenv(char const*)``.
        state: variables that carry values from one launch to the next.
    """

    unset: frozenset[str] = frozenset()
    perhaps_unset: frozenset[str] = frozenset()
    foreign: frozenset[str] = frozenset()
    state: frozenset[str] = frozenset()
