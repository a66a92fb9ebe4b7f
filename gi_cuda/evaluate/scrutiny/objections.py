"""Objections of checks to candidates, with a way to repeat the check."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from gi_cuda.evaluate.candidates import Candidate

Look: TypeAlias = Callable[[Sequence[Candidate]], Sequence[str]]
"""A check: returns the objection to each candidate, in words; "" if there is none."""


class Ruling(StrEnum):
    """The verdict that an objection leads to."""

    INCORRECT = "incorrect"
    """The outputs are wrong, or depend on chance."""

    INVALID = "invalid"
    """The candidate cannot replace the original."""

    UNVERIFIED = "unverified"
    """Nothing shows that the candidate is right."""


NOTHING_VARIES = "nothing-varies"
"""Code of an objection to all candidates: no input has any effect on what is judged."""

ORACLE_BLIND = "oracle-blind"
"""Code of an objection to all candidates: the oracle accepts anything."""


@dataclass(frozen=True, slots=True)
class Objection:
    """A reason against a candidate.

    Attributes:
        said: the reason in words.
        look: the check that found it, restricted to this reason.
        quick: whether `look` can check dozens of candidates at once; else it takes seconds for
            each.
        code: name of the kind of objection, for programs.
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

        If nothing tells right from wrong, no candidate is shown to be wrong, and none may win.
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
    """Return a check's objection to each candidate; None if there is none."""
    return [Objection(said, look, quick, code, ruling) if said else None for said in look(some)]


@dataclass(frozen=True, slots=True)
class Remembered:
    """A cache of objections, so that no candidate is checked twice.

    Attributes:
        look: the check.
    """

    look: Callable[[Sequence[Candidate]], Sequence[Objection | None]]
    _known: dict[tuple[object, ...], Objection | None] = field(default_factory=dict)

    def of(self, some: Sequence[Candidate]) -> list[Objection | None]:
        """Return the objection to each candidate; None if there is none."""
        new = [one for one in some if one.key is None or one.key not in self._known]
        found = iter(self.look(new) if new else ())
        told = [self._known[one.key] if one not in new and one.key else next(found) for one in some]
        self._known.update((one.key, said) for one, said in zip(some, told, strict=True) if one.key)
        return told
