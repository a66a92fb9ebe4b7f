"""What a check has against a candidate, and how to ask for the same again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from gi_cuda.evaluate.candidates import Candidate

Look: TypeAlias = Callable[[Sequence[Candidate]], Sequence[str]]
"""A check: what stands against each of some candidates, in words; "" where nothing does."""


class Ruling(StrEnum):
    """Verdicts that an objection leads to."""

    INCORRECT = "incorrect"
    """Its answers are wrong, or chance decides about them."""

    INVALID = "invalid"
    """It cannot take the place of the original."""

    UNVERIFIED = "unverified"
    """Nothing shows that it is right."""


NOTHING_VARIES = "nothing-varies"
"""Code of an objection to all candidates: no input has any effect on what is judged."""

ORACLE_BLIND = "oracle-blind"
"""Code of an objection to all candidates: the oracle accepts anything."""


@dataclass(frozen=True, slots=True)
class Objection:
    """Something that stands against a candidate.

    Attributes:
        said: in words.
        look: what found it, and looks for this alone.
        quick: whether dozens of candidates can be looked at so; else each takes seconds.
        code: a name of the kind, for programs.
        ruling: the verdict that it leads to.
    """

    said: str
    look: Look
    quick: bool
    code: str = "wrong-answers"
    ruling: Ruling = Ruling.INCORRECT

    @property
    def fails(self) -> bool:
        """Tell whether a candidate is refused as a winner. Other objections are only shown.

        Where nothing tells right from wrong, no candidate is shown to be wrong, and none may win.
        """
        blind = self.code in (NOTHING_VARIES, ORACLE_BLIND)
        return blind or self.ruling is not Ruling.UNVERIFIED


def objections_of(
    look: Look,
    some: Sequence[Candidate],
    *,
    quick: bool,
    code: str = "wrong-answers",
    ruling: Ruling = Ruling.INCORRECT,
) -> list[Objection | None]:
    """A check's objection to each of some candidates; None where it has none."""
    return [Objection(said, look, quick, code, ruling) if said else None for said in look(some)]


@dataclass(frozen=True, slots=True)
class Remembered:
    """What was found out about candidates, so that none is looked at twice.

    Attributes:
        look: finds it out.
    """

    look: Callable[[Sequence[Candidate]], Sequence[Objection | None]]
    _known: dict[tuple[object, ...], Objection | None] = field(default_factory=dict)

    def of(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """What stands against each of some candidates; None where nothing does."""
        new = [one for one in some if one.key is None or one.key not in self._known]
        found = iter(self.look(new) if new else ())
        told = [self._known[one.key] if one not in new and one.key else next(found) for one in some]
        self._known.update((one.key, said) for one, said in zip(some, told, strict=True) if one.key)
        return told
