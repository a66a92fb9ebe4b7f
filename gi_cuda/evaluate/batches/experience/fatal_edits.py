"""Edits that are known to make variants crash or hang.

A crash or a hang is final after it happened twice. The second death would stall a device for up to
half a second again. In most cases it is predictable: another individual crashed or hung because of
the same edit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gi_cuda.genome import Edit


class FatalEdits:
    """Edits that made a variant crash or hang when they were its only edit.

    Deletion and replacement of a statement count as the same, since both remove it. An inserted
    statement counts at any place: a barrier in a branch hangs in most places.
    """

    def __init__(self) -> None:
        self._gone: dict[str, int] = {}
        self._put: dict[str, int] = {}

    def enter(self, ident: int, edits: Sequence[Edit]) -> None:
        """Record an individual that finally crashed or hung; with several edits the cause is
        unknown.
        """
        match [step for edit in edits for step in edit.steps]:
            case [step] if step.removes:
                self._gone.setdefault(step.place, ident)
            case [step]:
                self._put.setdefault(step.donor, ident)

    def forget(self, ident: int) -> None:
        """Remove an individual whose death had another cause than its edits."""
        for known in (self._gone, self._put):
            for name in [name for name, one in known.items() if one == ident]:
                del known[name]

    def of(self, edits: Sequence[Edit]) -> int | None:
        """Return an individual that died of one of these edits; None if there is none."""
        for step in (step for edit in edits for step in edit.steps):
            known = self._gone.get(step.place) if step.removes else None
            if known is None:
                known = self._put.get(step.donor)
            if known is not None:
                return known
        return None

    def first(self, edits: Mapping[int, Sequence[Edit]]) -> list[int]:
        """Sort individuals, with those first that will probably crash.

        While a crash is cleaned up nothing can be measured, but at the start much is left to
        compile.
        """
        return sorted(edits, key=lambda ident: self.of(edits[ident]) is None)
