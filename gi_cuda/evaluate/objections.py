"""What a check has against a candidate, and how to ask for the same again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from gi_cuda.evaluate.candidates import Candidate

Look: TypeAlias = Callable[[Sequence[Candidate]], Sequence[str]]
"""A check: what stands against each of some candidates, in words; "" where nothing does."""


@dataclass(frozen=True, slots=True)
class Objection:
    """What stands against a candidate.

    Attributes:
        said: in words.
        look: what found it, and looks for this alone.
        quick: whether dozens of candidates can be looked at so; else each takes seconds.
    """

    said: str
    look: Look
    quick: bool


def objections_of(look: Look, some: Sequence[Candidate], *, quick: bool) -> list[Objection | None]:
    """What a check has against each of some candidates; None where that is nothing."""
    return [Objection(said, look, quick) if said else None for said in look(some)]
