"""Winners of other runs, used as the start of a run."""

from __future__ import annotations

from dataclasses import dataclass

from gi_cuda.results.speed_up import SpeedUp
from gi_cuda.subject.idea import Idea


@dataclass(frozen=True, slots=True)
class Start:
    """A winner of the source, found by another run on the same target.

    It holds everything that is needed to make the winner again, so the other run may be deleted.

    Attributes:
        name: name for messages.
        genotype: in notation.
        edits: name of the edit set of the other run's grammar.
        grammar_files: the ``.bnf`` and ``.scope`` files of the other run, if it used them.
        run: the other run's folder; "" in older runs.
        ideas: external ideas of the other run.
    """

    name: str
    genotype: str
    edits: str
    grammar_files: tuple[str, ...] = ()
    run: str = ""
    ideas: tuple[Idea, ...] = ()


@dataclass(frozen=True, slots=True)
class Started:
    """The start of a run and its measured speedup.

    Attributes:
        name: name for messages.
        speed_up: of the start over the reference, on the train cases.
    """

    name: str
    speed_up: SpeedUp

    def __str__(self) -> str:
        return f"{self.name}, speed-up {self.speed_up} over the reference on the train cases"
