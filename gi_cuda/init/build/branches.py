"""Conditions of build files, one in another, of which some cannot be decided."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class _Branch:
    """The branch of a condition that a line is in.

    Attributes:
        counts: whether its lines do; None where that cannot be decided.
        taken: whether an earlier one of the condition does for certain.
        outer: whether all of it counts at all.
    """

    counts: bool | None
    taken: bool
    outer: bool


@dataclass(slots=True)
class Branches:
    """Where in a file's conditions a line stands. What cannot be decided counts, with all that is
    instead of it."""

    _open: list[_Branch] = field(default_factory=list)

    @property
    def count(self) -> bool:
        """Whether what stands here counts."""
        return all(one.outer and one.counts is not False for one in self._open)

    def __bool__(self) -> bool:
        return bool(self._open)

    def enter(self, holds: bool | None) -> None:
        """Begin a condition, which holds, does not, or cannot be decided."""
        self._open.append(_Branch(holds, holds is True, self.count))

    def otherwise(self, holds: bool | None = True) -> None:
        """Begin what is instead of it, on another condition if there is one."""
        one = self._open[-1]
        one.counts = False if one.taken else holds
        one.taken = one.taken or holds is True

    def leave(self) -> None:
        """End a condition."""
        self._open.pop()
