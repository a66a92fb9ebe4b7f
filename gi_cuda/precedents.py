"""Edits that are known to take workers down.

A crash or a hang is final when it happened twice. The second time is another death, which stalls a
device for up to half a second; but mostly it comes from a line without which another individual
crashed or hung before.
"""

from __future__ import annotations

from collections.abc import Sequence

from gi_cuda.genome import Edit, Insert


class Precedents:
    """Edits each of which took workers down when there was no other edit beside it.

    Deleting a line and replacing it by another one count as the same: either takes it away.
    """

    def __init__(self) -> None:
        self._individuals: dict[object, int] = {}

    def enter(self, ident: int, edits: Sequence[Edit]) -> None:
        """An individual crashed or hung for good; of several edits any may be at fault."""
        if len(edits) == 1:
            self._individuals.setdefault(_fault(edits[0]), ident)

    def of(self, edits: Sequence[Edit]) -> int | None:
        """The individual that shows that one of these edits takes workers down."""
        known = (self._individuals.get(_fault(edit)) for edit in edits)
        return next((ident for ident in known if ident is not None), None)


def _fault(edit: Edit) -> object:
    return edit if isinstance(edit, Insert) else edit.place
