"""When a worker's death may be blamed on what it ran: once the device is known to work.

On a device that is lost everything dies. So what rests on a death is held back until something that
was begun later runs to its end: a variant, or, where there is none, the reference by itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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
    what: tuple[Held, ...]


class DeviceEvidence(Generic[Held]):
    """What is known of a device by how the work on it ends.

    Work goes by numbers, each of which is begun once.
    """

    def __init__(self) -> None:
        self._moment = 0
        self._begun: dict[int, int] = {}
        self._held: list[_Doubtful[Held]] = []
        self._deaths = self._failures = 0
        self._most = DEATHS
        self._asked = False

    def begun(self, number: int) -> None:
        """Some work was handed to workers."""
        self._begun[number] = self._now()

    def worked(self, number: int) -> list[Held]:
        """Some work ran to its end; what may be believed now."""
        begun = self._begun.pop(number)
        self._deaths = self._failures = 0
        self._most = DEATHS
        believed = [one for one in self._held if one.moment < begun]
        self._held = self._held[len(believed) :]
        return [what for one in believed for what in one.what]

    def died(self, number: int) -> None:
        """A worker died over some work, or could not do it."""
        del self._begun[number]
        self._now()
        self._deaths += 1

    def hold(self, what: Iterable[Held]) -> None:
        """Hold back what rests on the last death."""
        self._held.append(_Doubtful(self._moment, tuple(what)))

    @property
    def held(self) -> list[Held]:
        """All that is held back."""
        return [what for one in self._held for what in one.what]

    # -- the reference -----------------------------------------------------------------------

    def wants_proof(self, *, idle: bool) -> bool:
        """Whether the reference should be run now.

        Args:
            idle: whether nothing else is left that could show that the device works.
        """
        return not self._asked and bool(
            self._deaths >= self._most or self._failures or (idle and self._held)
        )

    def proof_begun(self, number: int) -> None:
        """The reference is run, as work of this number."""
        self._asked = True
        self.begun(number)

    def proof_worked(self, number: int) -> list[Held]:
        """The reference ran to its end; what may be believed now."""
        most = min(2 * self._most, MOST_DEATHS)
        self._asked = False
        believed = self.worked(number)
        self._most = most
        return believed

    def proof_failed(self, number: int, said: str) -> None:
        """The reference failed.

        Raises:
            DeviceLost: that was not the first time.
        """
        self._asked = False
        del self._begun[number]
        self._failures += 1
        if self._failures >= ATTEMPTS:
            raise DeviceLost(f"the unmodified kernel fails, too: {said}")

    def lost(self, said: str) -> DeviceLost:
        """What is to be raised where the device does not work any more; how many that concerns."""
        number = len(self.held)
        if not number:
            return DeviceLost(said)
        whom = "1 individual that failed since it last worked is"
        if number > 1:
            whom = f"{number} individuals that failed since it last worked are"
        return DeviceLost(f"{said}; {whom} not counted")

    def _now(self) -> int:
        self._moment += 1
        return self._moment
