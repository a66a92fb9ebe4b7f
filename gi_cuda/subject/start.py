"""What an evolution starts from, if that is not the target's reference."""

from __future__ import annotations

from dataclasses import dataclass

from gi_cuda.errors import UserError
from gi_cuda.genome import Genotype
from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.subject.protocol import Evolvable


@dataclass(frozen=True, slots=True)
class Start:
    """A winner of the source, found by another run on the same target.

    All that is needed to make it again is here, so the other run may go.

    Attributes:
        name: what it is, for people.
        genotype: in notation.
        edits: which rule types that run's grammar was asked for.
        grammar_files: the ``.bnf`` and ``.scope`` that it was read from, if it was.
    """

    name: str
    genotype: str
    edits: str
    grammar_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Started:
    """What a run started from.

    Attributes:
        name: for people.
        speed_up: its own over the reference, on the train cases.
    """

    name: str
    speed_up: SpeedUp

    def __str__(self) -> str:
        return f"{self.name}, speed-up {self.speed_up} over the reference on the train cases"


def beginning(subject: Evolvable, start: Start) -> Genotype:
    """The genotype that a start is at a subject's level.

    Raises:
        UserError: of source: it is no genotype of this grammar.
    """
    if subject.level != "source":
        return subject.original
    try:
        return subject.read(start.genotype)
    except UserError as error:
        raise UserError(
            f"it cannot be told in this grammar: {error.what}",
            where=start.name,
            hint=f"it was found with --edits {start.edits}",
        ) from None
