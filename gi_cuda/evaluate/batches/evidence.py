"""When a worker's death may be blamed on what it ran: once the device is known to work.

On a device that is lost everything dies. So what rests on a death is held back until something that
was begun later runs to its end there: a variant, or, where there is none, the reference by itself.
What works on another device says nothing of this one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Generic, TypeVar

from gi_cuda.errors import DeviceLost

DEATHS = 3
"""Deaths with nothing that worked between them after which the reference is run."""

MOST_DEATHS = 24
"""The same where the reference has worked meanwhile: each time it does so the number doubles, up to
this, for it is variants then that are at fault."""

ATTEMPTS = 2
"""Times that the reference has to fail in turn before the device is lost: once may be an accident
of something else on it."""

Held = TypeVar("Held")


@dataclass(frozen=True, slots=True)
class _Doubtful(Generic[Held]):
    """What rests on a death, and when that was."""

    moment: int
    what: Held


class DeviceEvidence(Generic[Held]):
    """What is known of a device by how the work on it ends.

    Work goes by numbers above 0, each of which is begun once. Below 0 are those of proofs: the
    reference by itself, in a fresh worker.

    Args:
        proofs: where their numbers come from, if not from here alone.
    """

    def __init__(self, proofs: Iterator[int] | None = None) -> None:
        self._moments = count(1)
        self._begun: dict[int, int] = {}
        self._doubtful: list[_Doubtful[Held]] = []
        self._deaths = self._failures = 0
        self._most = DEATHS
        self._proofs = count(-1, -1) if proofs is None else proofs

    def begun(self, number: int) -> None:
        """Some work was handed to workers."""
        self._begun[number] = next(self._moments)

    def worked(self, number: int) -> list[Held]:
        """Some work ran to its end; what may be believed now."""
        begun = self._begun.pop(number)
        self._deaths = self._failures = 0
        self._most = DEATHS
        believed = [one for one in self._doubtful if one.moment < begun]
        self._doubtful = self._doubtful[len(believed) :]
        return [one.what for one in believed]

    def died(self, number: int) -> None:
        """A worker died over some work, or could not do it."""
        del self._begun[number]
        self._deaths += 1

    def unanswered(self, number: int) -> None:
        """Nobody will say what became of some work."""
        del self._begun[number]

    def taken_back(self) -> list[Held]:
        """What was held back, and will not be believed any more."""
        doubtful, self._doubtful = self._doubtful, []
        return [one.what for one in doubtful]

    def hold(self, what: Held) -> None:
        """Hold back what rests on a death that was just told."""
        self._doubtful.append(_Doubtful(next(self._moments), what))

    @property
    def held(self) -> int:
        """How much is held back."""
        return len(self._doubtful)

    # -- the reference -----------------------------------------------------------------------

    def proof(self, *, idle: bool) -> int | None:
        """The number of the proof that is to begin now, if one is.

        Args:
            idle: whether nothing else is left that could show that the device works.
        """
        if any(number < 0 for number in self._begun):
            return None
        if not (self._deaths >= self._most or self._failures or (idle and self._doubtful)):
            return None
        number = next(self._proofs)
        self.begun(number)
        return number

    def proven(self, number: int) -> list[Held]:
        """The reference ran right; what may be believed now."""
        most = min(2 * self._most, MOST_DEATHS)
        believed = self.worked(number)
        self._most = most
        return believed

    def not_proven(self, number: int, said: str) -> None:
        """The reference failed.

        Raises:
            DeviceLost: that was not the first time.
        """
        del self._begun[number]
        self._failures += 1
        if self._failures >= ATTEMPTS:
            raise DeviceLost(f"the unmodified kernel fails, too: {said}")


class Evidence(Generic[Held]):
    """What is known of each of several devices. Numbers are those of all of them together."""

    def __init__(self) -> None:
        proofs = count(-1, -1)
        self._devices: dict[int, DeviceEvidence[Held]] = defaultdict(lambda: DeviceEvidence(proofs))
        self._where: dict[int, int] = {}

    def begun(self, number: int, device: int) -> None:
        """Some work was handed to a device's workers."""
        self._where[number] = device
        self._devices[device].begun(number)

    def on(self, number: int) -> DeviceEvidence[Held]:
        """What is known of the device that has some work."""
        return self._devices[self._where[number]]

    def device(self, number: int) -> int:
        """The device that has some work."""
        return self._where[number]

    @property
    def held(self) -> int:
        """How much is held back."""
        return sum(one.held for one in self._devices.values())

    def proofs(self, used: Collection[int], *, idle: bool) -> Iterator[tuple[int, int]]:
        """The numbers of the proofs that are to begin now, each with its device.

        Args:
            used: the devices that are used.
            idle: whether nothing else is left that could show that a device works.
        """
        for device, one in self._devices.items():
            if device in used and (number := one.proof(idle=idle)) is not None:
                self._where[number] = device
                yield number, device

    def left(self, used: Collection[int]) -> list[Held]:
        """What was held back on devices other than those that are used: it is to be done again."""
        gone = [number for number in self._devices if number not in used]
        return [what for number in gone for what in self._devices[number].taken_back()]

    def lost(self, said: str) -> DeviceLost:
        """What is to be raised where the device does not work any more: what shows that, and how
        many it concerns."""
        number = self.held
        if not number:
            return DeviceLost(said)
        whom = "1 individual that failed since it last worked is"
        if number > 1:
            whom = f"{number} individuals that failed since it last worked are"
        return DeviceLost(f"{said}; {whom} not counted")
