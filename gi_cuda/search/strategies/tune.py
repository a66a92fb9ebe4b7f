"""Tuning: the search of BarraCUDA over the configuration alone."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import ClassVar

from gi_cuda.errors import UserError
from gi_cuda.genome import Genotype
from gi_cuda.genome.variation import mutate_configuration
from gi_cuda.search.recipes import Variation
from gi_cuda.search.strategies import barracuda
from gi_cuda.subject import Subject


@dataclass(frozen=True, slots=True)
class Tuning(Variation):
    """The configuration alone varies."""

    code: ClassVar[bool] = False

    def mutate(self, genotype: Genotype, rng: random.Random) -> Genotype | None:
        """A mutant with another value; None where there is no other value."""
        configuration = mutate_configuration(genotype.configuration, rng, self.rates)
        return None if configuration is None else Genotype(configuration, genotype.edits)


def _demand_parameters(subject: Subject) -> None:
    if subject.compiled:
        raise UserError(
            "the tune preset varies parameters, and PTX has none",
            where="--preset",
            hint="choose another preset, or leave --level out",
        )
    if not subject.target.parameters:
        raise UserError(
            "there is nothing to tune: the target has no parameters",
            where=str(subject.target.file),
            hint="add a [[parameter]], or choose another --preset",
        )


PRESET = replace(
    barracuda.PRESET,
    name="tune",
    help="the configuration alone, for targets with parameters",
    variation=Tuning,
    demand=_demand_parameters,
)
