"""Orders in which the threads of a launch run, on devices that can choose the order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeAlias


class Schedule(StrEnum):
    """A thread order other than the natural one, which begins with thread 0 of block 0."""

    REVERSED = "reversed"
    RANDOM = "random"
    WARPS = "warps"
    AHEAD = "ahead"

    @property
    def words(self) -> str:
        """Return a description of the order for users."""
        return _WORDS[self]


_WORDS = {
    Schedule.REVERSED: "with blocks and threads in the opposite order",
    Schedule.RANDOM: "with blocks and threads in a random order",
    Schedule.WARPS: "with blocks and warps in a random order",
    Schedule.AHEAD: "with one warp ahead of the others",
}

Schedules: TypeAlias = Mapping[str, tuple[str, ...]]
"""Thread orders under which outputs are verified, by name. For each order, the kernels that keep
the natural order, since the reference's outputs are wrong in the other one."""


def excused(schedules: Schedules, kernels: Iterable[str]) -> dict[str, list[str]]:
    """Return the names of the schedules that each kernel cannot be run under.

    Kernels that can be run under all of them are left out.
    """
    missing = {k: [str(s) for s in Schedule if k in schedules.get(s, (k,))] for k in kernels}
    return {kernel: names for kernel, names in missing.items() if names}
