"""In which order the threads of a launch go on, where that is a device's to choose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TypeAlias


class Schedule(StrEnum):
    """An order besides the natural one, in which the first thread of the first block goes first."""

    REVERSED = "reversed"
    RANDOM = "random"
    WARPS = "warps"
    AHEAD = "ahead"

    @property
    def words(self) -> str:
        """What runs how, for people."""
        return _WORDS[self]


_WORDS = {
    Schedule.REVERSED: "with blocks and threads in the opposite order",
    Schedule.RANDOM: "with blocks and threads in a random order",
    Schedule.WARPS: "with blocks and warps in a random order",
    Schedule.AHEAD: "with one warp ahead of the others",
}

Schedules: TypeAlias = Mapping[str, tuple[str, ...]]
"""Schedules under which answers are held against the oracle, by name; for each the kernels that
keep the natural order, since the reference's are not right in this one."""


def excused(schedules: Schedules, kernels: Iterable[str]) -> dict[str, list[str]]:
    """For each kernel that cannot be run under all schedules the names of those that it cannot."""
    missing = {k: [str(s) for s in Schedule if k in schedules.get(s, (k,))] for k in kernels}
    return {kernel: names for kernel, names in missing.items() if names}
