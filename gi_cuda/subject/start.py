"""Winners of other runs that a run starts from."""

from __future__ import annotations

from dataclasses import dataclass

from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.subject.idea import Idea


@dataclass(frozen=True, slots=True)
class Start:
    """A winner of the source, found by another run on the same target.

    All that is needed to make it again is here, so the other run may go.

    Attributes:
        name: what it is, for people.
        genotype: in notation.
        edits: which rule types that run's grammar was asked for.
        grammar_files: the ``.bnf`` and ``.scope`` that it was read from, if it was.
        run: that run's folder; "" in runs of before that was kept.
        ideas: that run's.
    """

    name: str
    genotype: str
    edits: str
    grammar_files: tuple[str, ...] = ()
    run: str = ""
    ideas: tuple[Idea, ...] = ()


@dataclass(frozen=True, slots=True)
class Started:
    """The start of a run, as it was measured.

    Attributes:
        name: for people.
        speed_up: its own over the reference, on the train cases.
    """

    name: str
    speed_up: SpeedUp

    def __str__(self) -> str:
        return f"{self.name}, speed-up {self.speed_up} over the reference on the train cases"
