"""Evidence that a device works, without which a worker's death is not blamed on its task.

On a lost device everything dies. Therefore results of deaths are held back until a task that began
later succeeds on the device: a variant or, if there is none, the reference on its own. A success on
another device proves nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Generic, TypeVar

from gi_cuda.errors import DeviceLost

DEATHS = 3
"""Number of deaths without a success in between after which the reference is run."""

MOST_DEATHS = 24
"""Upper bound of that number. It doubles each time the reference succeeds, because variants are to
blame then."""

ATTEMPTS = 2
"""Number of consecutive failures of the reference that prove a device lost; a single one may be due
to another program."""

Held = TypeVar("Held")


@dataclass(frozen=True, slots=True)
class _Doubtful(Generic[Held]):
    """A result that is held back because of a death, and the moment of the death."""

    moment: int
    what: Held


class DeviceEvidence(Generic[Held]):
    """Evidence on one device.

    Tasks have positive numbers, each of which begins once. Tests of the device have negative
    numbers: they run the reference on its own in a new worker.

    Args:
        proofs: source of the tests' numbers; None for an own one.
    """

    def __init__(self, proofs: Iterator[int] | None = None) -> None:
        self._moments = count(1)
        self._begun: dict[int, int] = {}
        self._doubtful: list[_Doubtful[Held]] = []
        self._deaths = self._failures = 0
        self._most = DEATHS
        self._proofs = count(-1, -1) if proofs is None else proofs

    def begun(self, number: int) -> None:
        """Record that a task was handed to a worker."""
        self._begun[number] = next(self._moments)

    def worked(self, number: int) -> list[Held]:
        """Record that a task succeeded; return the results that can now be accepted."""
        begun = self._begun.pop(number)
        self._deaths = self._failures = 0
        self._most = DEATHS
        believed = [one for one in self._doubtful if one.moment < begun]
        self._doubtful = self._doubtful[len(believed) :]
        return [one.what for one in believed]

    def died(self, number: int) -> None:
        """Record that a worker died of a task, or could not do it."""
        del self._begun[number]
        self._deaths += 1

    def unanswered(self, number: int) -> None:
        """Record that a task will not be answered."""
        del self._begun[number]

    def taken_back(self) -> list[Held]:
        """Remove and return the results that are held back."""
        doubtful, self._doubtful = self._doubtful, []
        return [one.what for one in doubtful]

    def hold(self, what: Held) -> None:
        """Hold back the result of a death."""
        self._doubtful.append(_Doubtful(next(self._moments), what))

    @property
    def held(self) -> int:
        """The number of results that are held back."""
        return len(self._doubtful)

    # -- the reference -----------------------------------------------------------------------

    def proof(self, *, idle: bool) -> int | None:
        """Return the number of the test that is to begin now; None if there is none.

        Args:
            idle: whether no other task is left that could show that the device works.
        """
        if any(number < 0 for number in self._begun):
            return None
        if not (self._deaths >= self._most or self._failures or (idle and self._doubtful)):
            return None
        number = next(self._proofs)
        self.begun(number)
        return number

    def proven(self, number: int) -> list[Held]:
        """Record that the reference succeeded; return the results that can now be accepted."""
        most = min(2 * self._most, MOST_DEATHS)
        believed = self.worked(number)
        self._most = most
        return believed

    def not_proven(self, number: int, said: str) -> None:
        """Record that the reference failed.

        Raises:
            DeviceLost: it was not the first failure in a row.
        """
        del self._begun[number]
        self._failures += 1
        if self._failures >= ATTEMPTS:
            raise DeviceLost(f"the unmodified kernel fails, too: {said}")


class Evidence(Generic[Held]):
    """Evidence on each of several devices; task numbers are unique over all devices."""

    def __init__(self) -> None:
        proofs = count(-1, -1)
        self._devices: dict[int, DeviceEvidence[Held]] = defaultdict(lambda: DeviceEvidence(proofs))
        self._where: dict[int, int] = {}

    def begun(self, number: int, device: int) -> None:
        """Record that a task was handed to a worker of a device."""
        self._where[number] = device
        self._devices[device].begun(number)

    def on(self, number: int) -> DeviceEvidence[Held]:
        """Return the evidence on the device of a task."""
        return self._devices[self._where[number]]

    def device(self, number: int) -> int:
        """Return the device of a task."""
        return self._where[number]

    @property
    def held(self) -> int:
        """The number of results that are held back."""
        return sum(one.held for one in self._devices.values())

    def proofs(self, used: Collection[int], *, idle: bool) -> Iterator[tuple[int, int]]:
        """Yield the numbers of the tests that are to begin now, each with its device.

        Args:
            used: devices in use.
            idle: whether no other task is left that could show that a device works.
        """
        for device, one in self._devices.items():
            if device in used and (number := one.proof(idle=idle)) is not None:
                self._where[number] = device
                yield number, device

    def left(self, used: Collection[int]) -> list[Held]:
        """Remove and return the results held back on devices that are no longer used; they are
        repeated.
        """
        gone = [number for number in self._devices if number not in used]
        return [what for number in gone for what in self._devices[number].taken_back()]

    def lost(self, said: str) -> DeviceLost:
        """Return the error for a lost device, with the reason and the number of uncounted
        individuals.
        """
        number = self.held
        if not number:
            return DeviceLost(said)
        whom = "1 individual that failed since it last worked is"
        if number > 1:
            whom = f"{number} individuals that failed since it last worked are"
        return DeviceLost(f"{said}; {whom} not counted")
