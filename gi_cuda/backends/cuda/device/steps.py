"""Runs of a round, and what is looked at after each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from gi_cuda.backends.cuda.device.buffers import Zone
from gi_cuda.backends.cuda.device.memory import MemoryCheck, Region
from gi_cuda.backends.protocol.device import TimedRun
from gi_cuda.spec import Buffer


def _nothing() -> None:
    """What is done after a run of which nothing is kept."""


@dataclass(frozen=True, slots=True)
class Step:
    """A run of a round.

    Attributes:
        checks: made when it is over.
        after: done then, without waiting.
    """

    run: TimedRun
    checks: Sequence[MemoryCheck] = ()
    after: Callable[[], None] = _nothing


@dataclass(frozen=True, slots=True)
class Done:
    """What became of it.

    Attributes:
        seconds: on the device's clock.
        failing: the indices of the checks that failed.
    """

    seconds: float
    failing: Sequence[int]


@dataclass(frozen=True)
class Look:
    """What is looked at after a run that is verified.

    Attributes:
        judged: the buffers that the oracle looks at, and where they lie.
        answers: checks that these are as expected; None where the device cannot tell.
        signs: checks for the signs of confined code.
        zones: what must not have been written to.
    """

    run: TimedRun
    judged: Sequence[tuple[Buffer, Region]]
    answers: Sequence[MemoryCheck] | None
    signs: Sequence[MemoryCheck]
    zones: Sequence[Zone]

    @property
    def written(self) -> list[Region]:
        """Where its answers lie."""
        return [region for _, region in self.judged]

    @cached_property
    def checks(self) -> list[MemoryCheck]:
        """All of them."""
        return [*(self.answers or ()), *self.signs, *(zone.check for zone in self.zones)]

    def told(self, failing: Sequence[int]) -> tuple[tuple[str, ...], list[int], bool]:
        """What was damaged, which signs there are, and whether the answers are not as expected."""
        signs = len(self.answers or ())
        zones = signs + len(self.signs)
        damaged = tuple(self.zones[at - zones].name for at in failing if at >= zones)
        differs = self.answers is None or any(at < signs for at in failing)
        return damaged, [at - signs for at in failing if signs <= at < zones], differs
