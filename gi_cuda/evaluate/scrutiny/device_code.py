"""Does a candidate run what no device has, or keep what no device is told to keep?

On the host back end a kernel runs in an ordinary process. There ``fopen`` and ``getenv`` work, and
so does assembly of the processor. On a device none of them is there. A variable that kernels write
is legal, but carries something from one launch to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gi_cuda.evaluate.candidates import Candidate
from gi_cuda.evaluate.scrutiny.examined import Examined
from gi_cuda.evaluate.scrutiny.objections import Objection, Ruling


@dataclass(frozen=True)
class DeviceCode:
    """Looks for code that is no device code, and for new variables that kernels write."""

    examined: Examined

    def foreign(self, some: Sequence[Candidate]) -> list[str]:
        """Say of each candidate what it uses that no device has; "" where it uses nothing more of
        the kind than the reference does."""
        known = self.examined.reference.foreign
        return [_foreign(one.foreign - known) for one in self.examined.of(some)]

    def state(self, some: Sequence[Candidate]) -> list[str]:
        """Say of each candidate which variables it writes that the reference does not have."""
        known = self.examined.reference.state
        return [_state(one.state - known) for one in self.examined.of(some)]

    def objections(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """The first objection to each of several candidates; None where there is none."""
        found = zip(self.foreign(some), self.state(some), strict=True)
        return [self._objection(foreign, state) for foreign, state in found]

    def _objection(self, foreign: str, state: str) -> Objection | None:
        if foreign:
            return Objection(foreign, self.foreign, True, "not-device-code", Ruling.INVALID)
        if state:
            return Objection(state, self.state, True, "new-device-state", Ruling.UNVERIFIED)
        return None


def _foreign(names: frozenset[str]) -> str:
    return f"its device code uses what no device has: {', '.join(sorted(names))}" if names else ""


def _state(names: frozenset[str]) -> str:
    if not names:
        return ""
    return (
        f"it writes {', '.join(sorted(names))}, which the original does not have: what a launch"
        " leaves there may decide the answers of the next one"
    )
