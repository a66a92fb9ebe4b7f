"""Evaluated individuals from which a search can continue."""

from __future__ import annotations

from dataclasses import dataclass

from gi_cuda.genome import Genotype
from gi_cuda.genome.genotype import Change


@dataclass(frozen=True, slots=True)
class Tried:
    """A right individual with its changes.

    Attributes:
        ident: its number; 0 for the individual that the search began with.
        genotype: its genotype.
        changes: all changes of its genotype.
        ratio: upper bound of its time over the reference's.
        median: its measured ratio.
    """

    ident: int
    genotype: Genotype
    changes: frozenset[Change]
    ratio: float
    median: float

    @property
    def parents(self) -> tuple[int, ...]:
        """The parents' numbers for its children."""
        return (self.ident,) if self.ident else ()
