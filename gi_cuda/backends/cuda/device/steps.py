"""Runs of a round, and the checks after each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.cuda.device.memory_layout.buffers import Zone
from gi_cuda.backends.cuda.device.memory_layout.memory import STRETCH, MemoryCheck, Region
from gi_cuda.backends.protocol.agreement import NOTHING
from gi_cuda.backends.protocol.device import Part, TimedRun
from gi_cuda.spec import Buffer

WHOLE: Final = 4 * 2**20
"""Bytes of outputs up to which all outputs are copied if a value is wrong."""


def _nothing() -> None:
    """Do nothing after a run of which nothing is kept."""


@dataclass(frozen=True, slots=True)
class Step:
    """A run of a round.

    Attributes:
        checks: checks to make after it.
        after: called then; must not wait.
    """

    run: TimedRun
    checks: Sequence[MemoryCheck] = ()
    after: Callable[[], None] = _nothing


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a step.

    Attributes:
        seconds: time on the device's clock.
        failing: the checks that failed, as returned by :meth:`.Looks.failing`.
    """

    seconds: float
    failing: Mapping[int, int]


@dataclass(frozen=True)
class Look:
    """The checks after a run that is verified.

    Attributes:
        judged: the buffers that the oracle judges, with their memory.
        answers: checks that these are as expected; None if the device cannot check it.
        signs: checks for the signs of confined code.
        zones: memory that must not have been written.
    """

    run: TimedRun
    judged: Sequence[tuple[Buffer, Region]]
    answers: Sequence[MemoryCheck] | None
    signs: Sequence[MemoryCheck]
    zones: Sequence[Zone]

    @property
    def written(self) -> list[Region]:
        """Memory of its outputs."""
        return [region for _, region in self.judged]

    @cached_property
    def checks(self) -> list[MemoryCheck]:
        """All checks: of outputs, of signs, of zones."""
        return [*(self.answers or ()), *self.signs, *(zone.check for zone in self.zones)]

    def wanted(self, places: Sequence[Region], failing: Mapping[int, int]) -> Sequence[Region]:
        """Return the memory to read of outputs that are not as expected.

        Args:
            places: memory in which they are kept.
        """
        stretch = self._stretch(failing)
        if stretch is None:
            return places
        whole, begin = places[stretch[0]], stretch[1]
        size = min(STRETCH, whole.size - begin)
        return [replace(whole, address=whole.address + begin, size=size)]

    def part(self, failing: Mapping[int, int], read: Sequence[NDArray[np.uint8]]) -> Part | None:
        """Return the section of an output that was read; None if all outputs were."""
        stretch = self._stretch(failing)
        if stretch is None:
            return None
        buffer, _ = self.judged[stretch[0]]
        values = read[0].view(buffer.dtype)
        return Part(buffer.name, stretch[1] // buffer.dtype.itemsize, values)

    def _stretch(self, failing: Mapping[int, int]) -> tuple[int, int] | None:
        """Return the buffer's index and the first byte of the section with the first wrong value.

        None if outputs are small, or the section is not known.
        """
        rules, answers = self.run.rules, self.answers
        if not rules or not answers or sum(region.size for region in self.written) <= WHOLE:
            return None
        at = min(failing)  # checks of outputs come first, and one of them failed
        index = [region.address for region in self.written].index(answers[at].address)
        structs = any(rule.item for rule in rules[self.judged[index][0].name])
        return None if structs or answers[at].rule == NOTHING else (index, failing[at])

    def told(self, failing: Collection[int]) -> tuple[tuple[str, ...], list[int], bool]:
        """Return names of damaged memory, indices of signs, and whether outputs differ."""
        signs = len(self.answers or ())
        zones = signs + len(self.signs)
        damaged = tuple(self.zones[at - zones].name for at in failing if at >= zones)
        differs = self.answers is None or any(at < signs for at in failing)
        return damaged, [at - signs for at in failing if signs <= at < zones], differs
