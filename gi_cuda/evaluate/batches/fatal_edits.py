"""Edits that are known to take workers down.

A crash or a hang is final when it happened twice. The second time is another death, which stalls a
device for up to half a second; but mostly it comes from a line without which another individual
crashed or hung before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gi_cuda.genome import Edit


class FatalEdits:
    """Edits each of which took workers down when there was no other edit beside it.

    Deleting a line and replacing it by another one count as the same: either takes it away. A line
    that was inserted counts wherever it is put: a barrier in a branch hangs in most places.
    """

    def __init__(self) -> None:
        self._gone: dict[str, int] = {}
        self._put: dict[str, int] = {}

    def enter(self, ident: int, edits: Sequence[Edit]) -> None:
        """An individual crashed or hung for good; of several changed lines any may be at fault."""
        match [step for edit in edits for step in edit.steps]:
            case [step] if step.removes:
                self._gone.setdefault(step.place, ident)
            case [step]:
                self._put.setdefault(step.donor, ident)

    def forget(self, ident: int) -> None:
        """Whatever ended an individual's workers, it was not its edits."""
        for known in (self._gone, self._put):
            for name in [name for name, one in known.items() if one == ident]:
                del known[name]

    def of(self, edits: Sequence[Edit]) -> int | None:
        """The individual that shows that one of these edits takes workers down."""
        for step in (step for edit in edits for step in edit.steps):
            known = self._gone.get(step.place) if step.removes else None
            if known is None:
                known = self._put.get(step.donor)
            if known is not None:
                return known
        return None

    def first(self, edits: Mapping[int, Sequence[Edit]]) -> list[int]:
        """The numbers of individuals, those first that will probably crash: while one is cleared
        away nothing can be measured, but there is still much to compile."""
        return sorted(edits, key=lambda ident: self.of(edits[ident]) is None)
