"""What every kind of edit has: its notation, what it does to rules, how it is drawn and told.

What edits do to *one* rule: the last step that removes its text decides what stands there instead,
and earlier ones are as if they never were; inserts go before it in the order they were made,
whatever stands there. Steps on different rules do not depend on each other's order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import ClassVar, NamedTuple, Self

from gi_cuda.grammar import Expansion, Operation, Rules, Selection


class Step(NamedTuple):
    """What an edit does to one rule.

    Attributes:
        place: the rule.
        operation: one that the grammar offers for it.
        donor: the rule or special donor whose original text is put there; ``""`` for a delete.
    """

    place: str
    operation: Operation
    donor: str = ""

    @property
    def removes(self) -> bool:
        """Whether the rule's own text goes."""
        return self.operation is not Operation.INSERT

    def is_offered(self, grammar: Rules, offers: Selection) -> bool:
        """Whether the rule takes the operation, and the donor may go there."""
        return (
            self.place not in grammar.specials
            and self.operation in offers.operations(self.place)
            and (not self.donor or self.donor in offers.donors(self.place))
        )

    def changes_text(self, grammar: Rules) -> bool:
        """Whether it does more than to put in a rule's place what the rule spells."""
        donor, own = self.donor, self.place
        return not (self.removes and donor and grammar.text(donor) == grammar.text(own))

    def applied(self, so_far: Expansion) -> Expansion:
        """What is made of the rule, after what earlier steps made of it."""
        if self.removes:
            return Expansion(so_far.before, self.donor)
        return Expansion((*so_far.before, self.donor), so_far.body)


class Words(NamedTuple):
    """How a kind of edit is spoken of; ``{place}`` and ``{donor}`` are its rules in words, and
    ``{line}`` is the line of its place.

    Attributes:
        purpose: what one writes it for, with rules a and b, such as "to insert b before it".
        source: what it does to a source.
        instruction: what it does to an instruction of PTX.
        roles: what the place is to it, and the donor if there is one.
        pair: what it does to an instruction together with the edit that completes it.
    """

    purpose: str
    source: str
    instruction: str
    roles: tuple[str, ...]
    pair: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit; ``str`` is its notation.

    A kind of edit is a subclass in the table ``EDIT_KINDS``. Its file and its row there are all
    that it takes.

    Attributes:
        place: the rule that the edit is made at, which stands first in the notation.
        donor: the other rule, for kinds that name two. Rules of the original text or, where only
            their text is needed, special donors such as ``pragma_K4``.
        operator: what stands between the two in the notation; None for kinds that name one. No two
            kinds have the same.
        operation: what the place must offer.
        words: how it is spoken of.
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
        """What it does to each rule that it touches, beginning with its place: to no other one,
        unless a kind says so."""
        return (Step(self.place, self.operation, self.donor or ""),)

    @classmethod
    def usage(cls) -> str:
        """What one writes it for, as "<a>+<b> to insert b before it"."""
        return f"{cls('a') if cls.operator is None else cls('a', 'b')} {cls.words.purpose}"

    @classmethod
    def draw(cls, place: str, grammar: Rules, offers: Selection, rng: Random) -> Self | None:
        """A random edit at a place that offers the operation, with any donor that will do there
        with equal chance; None if none does."""
        if cls.operator is None:
            return cls(place)
        donors = offers.donors(place)
        edit = cls(place, rng.choice(donors))
        if edit._fits(grammar, offers):
            return edit
        edits = cls.every(place, grammar, offers)
        return rng.choice(edits) if edits else None

    def _fits(self, grammar: Rules, offers: Selection) -> bool:
        """Whether the donor's rule offers what the edit does to it, and some text changes."""
        place, *others = self.steps
        return all(step.is_offered(grammar, offers) for step in others) and any(
            step.changes_text(grammar) for step in (place, *others)
        )

    @classmethod
    def every(cls, place: str, grammar: Rules, offers: Selection) -> list[Self]:
        """All edits at a place that offers the operation that :meth:`draw` may give."""
        if cls.operator is None:
            return [cls(place)]
        edits = [cls(place, donor) for donor in offers.donors(place)]
        return [edit for edit in edits if edit._fits(grammar, offers)]

    @classmethod
    def count(cls, offers: Selection, place: str) -> int:
        """How many edits of this kind there can be at a place."""
        if cls.operation not in offers.operations(place):
            return 0
        return 1 if cls.operator is None else offers.count(place)

    def is_offered(self, grammar: Rules, offers: Selection) -> bool:
        """Whether every rule that it touches offers it."""
        return all(step.is_offered(grammar, offers) for step in self.steps)

    def completes(self, other: Edit) -> bool:
        """Whether the two together are a move or a swap."""
        return False


def expansions(edits: Iterable[Edit]) -> dict[str, Expansion]:
    """What the edits together make of each rule they touch, for the renderer."""
    result: dict[str, Expansion] = {}
    untouched = Expansion()
    for edit in edits:
        for step in edit.steps:
            result[step.place] = step.applied(result.get(step.place, untouched))
    return result


def repeats(edits: Iterable[Edit], edit: Edit) -> bool:
    """Whether appending the edit would say only what the edits say already."""
    if not all(step.removes for step in edit.steps):
        return False
    last = {step.place: step for one in edits for step in one.steps if step.removes}
    return all(last.get(step.place) == step for step in edit.steps)
