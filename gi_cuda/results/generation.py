"""Records of a generation of a run: its individuals, its counts and its times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from gi_cuda.results.evaluation import Outcome


@dataclass(frozen=True, slots=True)
class Phases:
    """Time by phase, in seconds.

    Attributes:
        search: processor time of the search's own process; it overlaps the other phases.
        preprocess: wall time of the preprocessors.
        compile: wall time during which at least one compiler ran.
        run, verify: remaining wall time during which something was measured, split in proportion
            to the workers' time for running and verifying.
        wall: total wall time.
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
        """Wall time in which neither compilers nor workers were busy, seconds."""
        return max(0.0, self.wall - self.preprocess - self.compile - self.run - self.verify)


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts from breeding one generation.

    Attributes:
        created: all children made, duplicates included.
        genotype_duplicates, phenotype_duplicates: children whose genotype or phenotype was tried
            before (tabu).
    """

    created: int = 0
    genotype_duplicates: int = 0
    phenotype_duplicates: int = 0


@dataclass(frozen=True, slots=True)
class Individual:
    """One member of a generation, as stored.

    Attributes:
        ident: number in the run, from 1; 0 is the reference.
        generation: number of the generation, from 0.
        genotype: text in the genotype notation.
        genotype_key, phenotype_key: keys under which the individual is tabu; no phenotype key if
            preprocessing failed.
        origin: name of the operator that made the individual.
        parents: numbers of the parents.
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
    """Counts and times of one generation; ``cohorts``: cohorts that it was bred in so far."""

    number: int
    finished: bool
    tally: Tally
    phases: Phases
    outcomes: Mapping[Outcome, int]
    cohorts: int = 1
