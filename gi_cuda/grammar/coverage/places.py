"""Places in a text whose executions are counted, and texts with counters at places."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Outcome(StrEnum):
    """The event that a counter counts.

    ``REACHED``: a statement is reached. ``TRUE``: the condition of an ``if`` or loop is true.
    ``FALSE``: the condition of an ``if`` is false. ``AGAIN``: the condition of a loop is true once
    more.
    """

    REACHED = "reached"
    TRUE = "true"
    FALSE = "false"
    AGAIN = "again"


class Place(NamedTuple):
    """The subject of a counter: an event at a rule or at a loop.

    Attributes:
        rule: name of the rule; "" if the counter belongs to a loop.
        outcome: the event that the counter counts.
        loop: ident of the loop; None if the counter belongs to a rule.
    """

    rule: str
    outcome: Outcome
    loop: int | None = None


@dataclass(frozen=True, slots=True)
class CountedText:
    """A text with counters, which replace the counters of loops.

    Attributes:
        text: the text.
        places: the subject of each counter; the index is the counter's number.
    """

    text: str
    places: tuple[Place, ...]
