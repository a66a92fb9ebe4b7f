"""Check that a candidate uses only code that devices can run, and adds no persistent state.

On the host back end a kernel runs in an ordinary process, where ``fopen``, ``getenv`` and assembly
of the CPU work. No device has them. A variable that kernels write is legal, but carries data from
one launch to the next.
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
    """A check for code that is not device code, and for new variables that kernels write.

    Attributes:
        examined: examination by the back end's compiler.
        for_gpus: compilation for GPUs, which takes a second or two for each candidate.
    """

    examined: Examined
    for_gpus: ForGpus

    def foreign(self, some: Sequence[Candidate]) -> list[str]:
        """Return a message for each candidate about names that no device has; "" if there are none.

        Names that the reference uses too are not reported.
        """
        known = self.examined.reference.foreign
        return [_foreign(one.foreign - known) for one in self.examined.of(some)]

    def state(self, some: Sequence[Candidate]) -> list[str]:
        """Return a message for each candidate about written variables that the reference does
        not have.
        """
        known = self.examined.reference.state
        return [_state(one.state - known) for one in self.examined.of(some)]

    def objections(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """Return the first objection to each candidate; None if there is none."""
        code, ruling = "new-device-state", Ruling.UNVERIFIED
        state = objections_of(self.state, some, quick=True, code=code, ruling=ruling)
        found = [one or other for one, other in zip(self.invalid(some), state, strict=True)]
        left = [one for one, known in zip(some, found, strict=True) if known is None]
        refused = iter(self._refused(left))
        return [one or next(refused) for one in found]

    def _refused(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """Return the objection to each candidate that a compiler for GPUs rejects."""
        code, ruling = "not-device-code", Ruling.INVALID
        return objections_of(self._not_taken, some, quick=True, code=code, ruling=ruling)

    def _not_taken(self, some: Sequence[Candidate]) -> list[str]:
        said = self.for_gpus.refusals(some)
        return [f"a compiler for GPUs does not take it: {one}" if one else "" for one in said]

    def invalid(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """Return the objection to each candidate that uses names that no device has; None for
        others.
        """
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
