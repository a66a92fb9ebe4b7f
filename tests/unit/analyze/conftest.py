"""Edits with planted effects, and a measurer that times them with noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from gi_cuda.analyze.minimizing.minimize import Measurers
from gi_cuda.genome import Changed, Delete, Genotype, Space
from gi_cuda.results.measurement import Sample
from gi_cuda.results.speed_up import Reading

NOISE = 0.01
"""Standard deviation of every simulated time, variant's and reference's, as a fraction."""

BUILDS, PAIRS = 5, 15
SECONDS = 0.001
TRAIN = ("train",) * PAIRS

ORIGINAL = Genotype(Space().default)

Names = frozenset[str]


@dataclass(frozen=True, slots=True)
class Truth:
    """The true effect of each set of edits.

    Attributes:
        gains: speed-up of sets of edits that are all present; speed-ups multiply.
        fails: returns whether a set of edits gives wrong answers on the train cases.
        fails_held_out: the same for the held-out cases.
    """

    gains: dict[Names, float]
    fails: Callable[[Names], bool] = lambda names: False
    fails_held_out: Callable[[Names], bool] = lambda names: False

    def gain(self, names: Names) -> float:
        return math.prod(gain for edits, gain in self.gains.items() if edits <= names)


@dataclass(slots=True)
class Simulated:
    """A measurer of planted edits, with noise drawn from a seed.

    Attributes:
        placement: standard deviation of the relative error that each build of a variant adds to all
            its times, as the address of its code does.
        beside: the edits of the variant that they are timed beside.
        asked: the sizes of the batches that it measured.
    """

    truth: Truth
    fails: Callable[[Names], bool]
    seed: int
    placement: float = 0.0
    beside: Names = frozenset()
    asked: list[int] = field(default_factory=list)

    def __call__(self, genotypes: Sequence[Genotype]) -> list[Reading]:
        self.asked.append(len(genotypes))
        return [self._read(genotype, number) for number, genotype in enumerate(genotypes)]

    def _read(self, genotype: Genotype, number: int) -> Reading:
        names = frozenset(edit.place for edit in genotype.edits)
        if self.fails(names):
            return Reading(failure="wrong: out[0] is 1, expected 2")
        rng = np.random.default_rng([self.seed, len(self.asked), number])
        reference = SECONDS / self.truth.gain(self.beside)
        reference = reference * np.exp(rng.normal(0, NOISE, (BUILDS, PAIRS)))
        variant = SECONDS / self.truth.gain(names) * np.exp(rng.normal(0, NOISE, (BUILDS, PAIRS)))
        variant *= np.exp(rng.normal(0, self.placement, (BUILDS, 1)))
        return Reading(
            tuple(
                tuple(map(Sample, TRAIN, *times))
                for times in zip(variant.tolist(), reference.tolist(), strict=True)
            )
        )


def genotype(names: Sequence[str]) -> Genotype:
    return Genotype(ORIGINAL.configuration, tuple(Delete(name) for name in names))


def changed(names: Sequence[str]) -> Changed:
    order = {name: at for at, name in enumerate(names)}
    return Changed.of(genotype(names), ORIGINAL, order)


def measurer(truth: Truth, seed: int) -> tuple[Simulated, Simulated]:
    """Return the train and the held-out measurer of one truth."""
    held_out = Simulated(truth, lambda n: truth.fails(n) or truth.fails_held_out(n), seed + 1000)
    return Simulated(truth, truth.fails, seed), held_out


def measurers(
    truth: Truth, seed: int, placement: float = 0.0, confirming: Truth | None = None
) -> Measurers:
    """Return all measurers of one truth, or of another one on the confirm cases."""
    several = [*measurer(truth, seed), Simulated(confirming or truth, truth.fails, seed + 2000)]
    if confirming is not None:
        several[2].fails = confirming.fails
    for one in several:
        one.placement = placement
    train, held_out, confirm = several

    def beside(one: Simulated, number: int) -> Callable[[Genotype], Simulated]:
        return lambda winner: replace(
            one,
            seed=one.seed + number,
            beside=frozenset(edit.place for edit in winner.edits),
            asked=[],
        )

    return Measurers(train, held_out, confirm, beside(train, 3000), beside(confirm, 3000))


@pytest.fixture(scope="session")
def planted() -> Truth:
    """Return a truth with all kinds of effects.

    ``a``, ``b``, ``c`` gain on their own; ``p`` and ``q`` only together; ``s`` is wrong without
    ``t`` and ``t`` without ``s``; ``w`` gains on the train cases and is wrong on the others; forty
    more have no effect.
    """
    return Truth(
        {
            frozenset("a"): 1.04,
            frozenset("b"): 1.08,
            frozenset("c"): 1.15,
            frozenset("pq"): 1.07,
            frozenset("st"): 1.1,
            frozenset("w"): 1.05,
        },
        fails=lambda names: len(names & frozenset("st")) == 1,
        fails_held_out=lambda names: "w" in names,
    )


PLANTED = (*"abcpqstw", *(f"n{i}" for i in range(40)))
