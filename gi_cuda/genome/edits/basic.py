"""The edits of Langdon et al., GECCO 2015, section 2.5: delete, replace, insert before.

Moves and swaps are no kinds of their own: each consists of two edits.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gi_cuda.genome.edits.edit import Edit, Step, Words
from gi_cuda.grammar import Operation


@dataclass(frozen=True, slots=True)
class Delete(Edit):
    """Deletes the rule's text: an ``if`` is never taken, a part of a loop header becomes empty."""

    donor: None = field(default=None, init=False, repr=False)

    operator = None
    operation = Operation.DELETE
    words = Words(
        "to delete a rule",
        "deletes {place}",
        "deletes an instruction",
        ("deleted",),
        "moves an instruction away",
    )

    def completes(self, other: Edit) -> bool:
        """Tell whether the other edit inserts the deleted rule elsewhere (together: a move)."""
        return any(not step.removes and step.donor == self.place for step in other.steps)


@dataclass(frozen=True, slots=True)
class Replace(Edit):
    """Replaces the rule's text by the donor's original text."""

    donor: str

    operator = ""
    operation = Operation.REPLACE
    words = Words(
        "to replace it",
        "replaces {place} by {donor}",
        "replaces an instruction by a copy of another one",
        ("replaced", "by a copy of"),
        "swaps two instructions",
    )

    def completes(self, other: Edit) -> bool:
        """Tell whether the other edit replaces the donor by the rule (together: a swap)."""
        return Step(self.donor, self.operation, self.place) in other.steps


@dataclass(frozen=True, slots=True)
class Insert(Edit):
    """Inserts the donor's original text before the rule; before a condition, as a conjunct."""

    donor: str

    operator = "+"
    operation = Operation.INSERT
    words = Words(
        "to insert b before it",
        "inserts {donor} before {line}",
        "copies an instruction before {place}",
        ("before", "a copy of"),
        "moves an instruction before {place}",
    )

    def completes(self, other: Edit) -> bool:
        """Tell whether the other edit deletes the donor (together: a move)."""
        return Step(self.donor, Operation.DELETE) in other.steps
