"""The edits of Langdon et al., GECCO 2015, section 2.5: delete, replace, insert before.

Move and swap need no kinds of their own: each is two edits.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gi_cuda.genome.edits.edit import Edit, Step, Words
from gi_cuda.grammar import Operation


@dataclass(frozen=True, slots=True)
class Delete(Edit):
    """The rule's text goes: an ``if`` is never taken, a loop header part is empty."""

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
        """Whether the other one inserts the rule elsewhere."""
        return any(not step.removes and step.donor == self.place for step in other.steps)


@dataclass(frozen=True, slots=True)
class Replace(Edit):
    """The donor's original text stands in place of the rule's own."""

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
        """Whether the other one replaces the donor by the rule."""
        return Step(self.donor, self.operation, self.place) in other.steps


@dataclass(frozen=True, slots=True)
class Insert(Edit):
    """The donor's original text is put before the rule; before a condition, as a conjunct."""

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
        """Whether the other one deletes the donor."""
        return Step(self.donor, Operation.DELETE) in other.steps
