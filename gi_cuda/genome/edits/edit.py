"""Base class of edits: notation, effect on rules, random draws, and words for messages.

Several edits of *one* rule combine as follows. The last step that removes the rule's text decides
the new text; earlier removing steps have no effect. Inserts go before that text in the order in
which they were made. The order of steps on different rules does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import ClassVar, NamedTuple, Self

from gi_cuda.grammar import Expansion, Operation, Rules, Selection


class Step(NamedTuple):
    """An operation of an edit on one rule.

    Attributes:
        place: name of the rule.
        operation: an operation that the grammar offers for the rule.
        donor: the rule or special donor whose original text goes there; ``""`` for a delete.
    """

    place: str
    operation: Operation
    donor: str = ""

    @property
    def removes(self) -> bool:
        """Tell whether the step removes the rule's own text (delete or replace)."""
        return self.operation is not Operation.INSERT

    def is_offered(self, grammar: Rules, offers: Selection) -> bool:
        """Tell whether the rule offers the operation, and the donor may go there."""
        return (
            self.place not in grammar.specials
            and self.operation in offers.operations(self.place)
            and (not self.donor or self.donor in offers.donors(self.place))
        )

    def changes_text(self, grammar: Rules) -> bool:
        """Tell whether the step changes the text: False if it replaces a rule by equal text."""
        donor, own = self.donor, self.place
        return not (self.removes and donor and grammar.text(donor) == grammar.text(own))

    def applied(self, so_far: Expansion) -> Expansion:
        """Return the rule's expansion after this step.

        Args:
            so_far: the rule's expansion after earlier steps.
        """
        if self.removes:
            return Expansion(so_far.before, self.donor)
        return Expansion((*so_far.before, self.donor), so_far.body)


class Words(NamedTuple):
    """Phrases that describe a kind of edit to users.

    In the phrases, ``{place}`` and ``{donor}`` stand for descriptions of the edit's rules, and
    ``{line}`` for the line of its place.

    Attributes:
        purpose: purpose of the edit, with rules a and b, for example "to insert b before it".
        source: effect on a source, for example "deletes {place}".
        instruction: effect on a PTX instruction.
        roles: word for the role of the place, then of the donor if the kind has one.
        pair: effect on an instruction together with the edit that completes this edit.
    """

    purpose: str
    source: str
    instruction: str
    roles: tuple[str, ...]
    pair: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit; ``str`` is its notation.

    A kind of edit is a subclass in the table ``EDIT_KINDS``. To add a kind, write its file and add
    it to that table.

    Attributes:
        place: name of the rule that the edit changes; comes first in the notation.
        donor: name of the other rule, for kinds that name two: a rule of the original text or, if
            only its text is needed, a special donor such as ``pragma_K4``.
        operator: text between the two names in the notation, unique to the kind; None for kinds
            that name only one rule.
        operation: the operation that the place must offer.
        words: phrases that describe the kind to users.
    """

    place: str
    donor: str | None = None

    operator: ClassVar[str | None]
    operation: ClassVar[Operation]
    words: ClassVar[Words]

    def __str__(self) -> str:
        if self.operator is None:
            return f"<{self.place}>"
        return f"<{self.place}>{self.operator}<{self.donor}>"

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the edit, one per rule that it changes; the first is on its place.

        The default is one step; a kind that changes several rules overrides this.
        """
        return (Step(self.place, self.operation, self.donor or ""),)

    @classmethod
    def usage(cls) -> str:
        """Return the notation and purpose of the kind, e.g. "<a>+<b> to insert b before it"."""
        return f"{cls('a') if cls.operator is None else cls('a', 'b')} {cls.words.purpose}"

    @classmethod
    def draw(cls, place: str, grammar: Rules, offers: Selection, rng: Random) -> Self | None:
        """Draw a random edit of this kind at a place that offers the operation.

        Each suitable donor has an equal chance. Return None if no donor is suitable.
        """
        if cls.operator is None:
            return cls(place)
        donors = offers.donors(place)
        edit = cls(place, rng.choice(donors))
        if edit._fits(grammar, offers):
            return edit
        edits = cls.every(place, grammar, offers)
        return rng.choice(edits) if edits else None

    def _fits(self, grammar: Rules, offers: Selection) -> bool:
        """Tell whether all other rules of the edit offer their steps, and some text changes."""
        place, *others = self.steps
        return all(step.is_offered(grammar, offers) for step in others) and any(
            step.changes_text(grammar) for step in (place, *others)
        )

    @classmethod
    def every(cls, place: str, grammar: Rules, offers: Selection) -> list[Self]:
        """Return all edits that :meth:`draw` may return at a place that offers the operation."""
        if cls.operator is None:
            return [cls(place)]
        edits = [cls(place, donor) for donor in offers.donors(place)]
        return [edit for edit in edits if edit._fits(grammar, offers)]

    @classmethod
    def count(cls, offers: Selection, place: str) -> int:
        """Return the largest possible number of edits of this kind at a place."""
        if cls.operation not in offers.operations(place):
            return 0
        return 1 if cls.operator is None else offers.count(place)

    def is_offered(self, grammar: Rules, offers: Selection) -> bool:
        """Tell whether every rule that the edit changes offers its step."""
        return all(step.is_offered(grammar, offers) for step in self.steps)

    def completes(self, other: Edit) -> bool:
        """Tell whether the two edits together are a move or a swap."""
        return False


def expansions(edits: Iterable[Edit]) -> dict[str, Expansion]:
    """Combine edits into one expansion per rule that they change, for the renderer."""
    result: dict[str, Expansion] = {}
    untouched = Expansion()
    for edit in edits:
        for step in edit.steps:
            result[step.place] = step.applied(result.get(step.place, untouched))
    return result


def repeats(edits: Iterable[Edit], edit: Edit) -> bool:
    """Tell whether appending an edit to others would have no effect.

    That is so if the last edits that remove the texts of its rules have the same steps.
    """
    if not all(step.removes for step in edit.steps):
        return False
    last = {step.place: step for one in edits for step in one.steps if step.removes}
    return all(last.get(step.place) == step for step in edit.steps)
