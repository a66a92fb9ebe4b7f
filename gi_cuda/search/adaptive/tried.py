"""What a search has evaluated and can go on with."""

from __future__ import annotations

from dataclasses import dataclass

from gi_cuda.genome import Genotype
from gi_cuda.genome.genotype import Change


@dataclass(frozen=True, slots=True)
class Tried:
    """A right individual with its changes.

    Attributes:
        ident: its number; 0 is what the search began with.
        genotype: of it.
        changes: what it changes of that.
        ratio: its time over the reference's is at most this.
        median: its measured ratio.
    """

    ident: int
    genotype: Genotype
    changes: frozenset[Change]
    ratio: float
    median: float

    @property
    def parents(self) -> tuple[int, ...]:
        """What its children name as their parents."""
        return (self.ident,) if self.ident else ()
