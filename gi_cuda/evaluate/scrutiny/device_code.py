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
from gi_cuda.evaluate.scrutiny.for_gpus import ForGpus
from gi_cuda.evaluate.scrutiny.objections import Objection, Ruling, objections_of


@dataclass(frozen=True)
class DeviceCode:
    """Looks for code that is no device code, and for new variables that kernels write.

    Attributes:
        examined: what the compiler of a back end tells.
        for_gpus: what a compiler for GPUs tells; that takes a second or two for each.
    """

    examined: Examined
    for_gpus: ForGpus

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
        code, ruling = "new-device-state", Ruling.UNVERIFIED
        state = objections_of(self.state, some, quick=True, code=code, ruling=ruling)
        found = [one or other for one, other in zip(self.invalid(some), state, strict=True)]
        left = [one for one, known in zip(some, found, strict=True) if known is None]
        refused = iter(self._refused(left))
        return [one or next(refused) for one in found]

    def _refused(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """The objection to each that a compiler for GPUs does not take."""
        code, ruling = "not-device-code", Ruling.INVALID
        return objections_of(self._not_taken, some, quick=True, code=code, ruling=ruling)

    def _not_taken(self, some: Sequence[Candidate]) -> list[str]:
        said = self.for_gpus.refusals(some)
        return [f"a compiler for GPUs does not take it: {one}" if one else "" for one in said]

    def invalid(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """The objection to each that uses what no device has; None to the others."""
        code, ruling = "not-device-code", Ruling.INVALID
        return objections_of(self.foreign, some, quick=True, code=code, ruling=ruling)


def _foreign(names: frozenset[str]) -> str:
    return f"its device code uses what no device has: {', '.join(sorted(names))}" if names else ""


def _state(names: frozenset[str]) -> str:
    if not names:
        return ""
    return (
        f"it writes {', '.join(sorted(names))}, which the original does not have: what a launch"
        " leaves there may decide the answers of the next one"
    )
