"""The run's winner: the best individual on the train cases that holds on the held-out ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from gi_cuda.evaluate.validation import Validation
from gi_cuda.runs.run import Run
from gi_cuda.store import Store


@dataclass(frozen=True, slots=True)
class Winner:
    """A validated individual."""

    ident: int
    genotype: str
    validation: Validation


def select_winner(run: Run) -> Winner | None:
    """Validate the best individuals, best first, until one is correct and faster; store it.

    None where none holds; what was stored before is then forgotten.
    """
    finalists = run.finalists()
    validations = run.validate([run.candidate(genotype) for _, genotype in finalists])
    for (ident, genotype), validation in zip(finalists, validations, strict=True):
        if validation.faster:
            winner = Winner(ident, str(genotype), validation)
            run.store.put(champion=asdict(winner))
            return winner
    run.store.put(champion=None)
    return None


def stored_winner(store: Store) -> Winner | None:
    """The winner as it was stored last."""
    return store.load("champion", Winner)
