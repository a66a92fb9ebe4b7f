"""Nested conditions of build files, some of which cannot be decided."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class _Branch:
    """The current branch of a condition.

    Attributes:
        counts: True if the branch is taken, False if not; None if that cannot be decided.
        taken: True if an earlier branch of the same condition is certainly taken.
        outer: True if the whole condition stands in code that counts.
    """

    counts: bool | None
    taken: bool
    outer: bool


@dataclass(slots=True)
class Branches:
    """A stack of the conditions around the current line of a file.

    If a condition cannot be decided, all of its branches count.
    """

    _open: list[_Branch] = field(default_factory=list)

    @property
    def count(self) -> bool:
        """Tell whether the current line counts."""
        return all(one.outer and one.counts is not False for one in self._open)

    def __bool__(self) -> bool:
        return bool(self._open)

    def enter(self, holds: bool | None) -> None:
        """Begin a condition that is true, false, or undecided (None)."""
        self._open.append(_Branch(holds, holds is True, self.count))

    def otherwise(self, holds: bool | None = True) -> None:
        """Begin the next branch (``else`` or ``elseif``), with its own condition if it has one."""
        one = self._open[-1]
        one.counts = False if one.taken else holds
        one.taken = one.taken or holds is True

    def leave(self) -> None:
        """End the innermost condition."""
        self._open.pop()
