"""A generation of a run: its individuals, what breeding them took, and where time went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from gi_cuda.results.evaluation import Outcome


@dataclass(frozen=True, slots=True)
class Phases:
    """Where time went, in seconds.

    Attributes:
        search: processor time of this process; much of it passes while others work.
        preprocess: wall time of the preprocessors.
        compile: wall time in which something was being compiled.
        run, verify: wall time besides in which something was measured, split as the workers' time
            between running and verifying.
        wall: all of it.
    """

    search: float = 0.0
    preprocess: float = 0.0
    compile: float = 0.0
    run: float = 0.0
    verify: float = 0.0
    wall: float = 0.0

    def __add__(self, other: Phases) -> Phases:
        pairs = zip(asdict(self).values(), asdict(other).values(), strict=True)
        return Phases(*(a + b for a, b in pairs))

    def __sub__(self, other: Phases) -> Phases:
        pairs = zip(asdict(self).values(), asdict(other).values(), strict=True)
        return Phases(*(a - b for a, b in pairs))

    @property
    def idle(self) -> float:
        """Wall time in which neither compilers nor workers had anything to do: the search's own
        work that nothing else goes on beside."""
        return max(0.0, self.wall - self.preprocess - self.compile - self.run - self.verify)


@dataclass(frozen=True, slots=True)
class Tally:
    """What breeding one generation took.

    ``created`` counts every child made; those that were tabu are counted as duplicates.
    """

    created: int = 0
    genotype_duplicates: int = 0
    phenotype_duplicates: int = 0


@dataclass(frozen=True, slots=True)
class Individual:
    """One member of a generation, as stored.

    Attributes:
        ident: its number in the run, from 1; 0 is the reference.
        generation: number of its generation, from 0.
        genotype: in the genotype notation.
        genotype_key, phenotype_key: its two tabu keys; no phenotype where it did not preprocess.
        origin: how it was made, in a word.
        parents: numbers of its parents.
    """

    ident: int
    generation: int
    genotype: str
    genotype_key: bytes
    phenotype_key: bytes | None
    origin: str
    parents: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Generation:
    """One generation's counts and times; ``cohorts``: how many it was bred in so far."""

    number: int
    finished: bool
    tally: Tally
    phases: Phases
    outcomes: Mapping[Outcome, int]
    cohorts: int = 1
