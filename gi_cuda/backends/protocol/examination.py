"""A variant compiled alone and looked at closely: warnings, and names that its code needs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Examination:
    """Findings about one variant; all empty where a compiler cannot tell, or cannot compile it.

    Attributes:
        unset: locals that are read though nothing can have set them.
        perhaps_unset: locals that are read where the compiler cannot tell whether they are set.
        foreign: uses of what no device has, in words, e.g. ``getenv(char const*)``.
        state: variables that keep what a launch writes for the next one.
    """

    unset: frozenset[str] = frozenset()
    perhaps_unset: frozenset[str] = frozenset()
    foreign: frozenset[str] = frozenset()
    state: frozenset[str] = frozenset()
