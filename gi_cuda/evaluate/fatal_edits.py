"""Edits that are known to take workers down.

A crash or a hang is final when it happened twice. The second time is another death, which stalls a
device for up to half a second; but mostly it comes from a line without which another individual
crashed or hung before.
"""

from __future__ import annotations

from collections.abc import Sequence

from gi_cuda.genome import Delete, Edit, Insert, Replace


class FatalEdits:
    """Edits each of which took workers down when there was no other edit beside it.

    Deleting a line and replacing it by another one count as the same: either takes it away. A line
    that was inserted counts wherever it is put: a barrier in a branch hangs in most places.
    """

    def __init__(self) -> None:
        self._gone: dict[str, int] = {}
        self._put: dict[str, int] = {}

    def enter(self, ident: int, edits: Sequence[Edit]) -> None:
        """An individual crashed or hung for good; of several edits any may be at fault."""
        match edits:
            case [Insert(_, donor)]:
                self._put.setdefault(donor, ident)
            case [Delete(place) | Replace(place, _)]:
                self._gone.setdefault(place, ident)

    def of(self, edits: Sequence[Edit]) -> int | None:
        """The individual that shows that one of these edits takes workers down."""
        for edit in edits:
            known = None if isinstance(edit, Insert) else self._gone.get(edit.place)
            if known is None and not isinstance(edit, Delete):
                known = self._put.get(edit.donor)
            if known is not None:
                return known
        return None
