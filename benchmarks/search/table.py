"""An evaluator that measures nothing: it simulates the measurement of a landscape's true times."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from xxhash import xxh3_128_digest

from benchmarks.search.landscapes import Effect, effects_of
from gi_cuda.backends.protocol.programs import Sampling
from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Evaluation, lost, measured, not_built
from gi_cuda.results.measurement import Measurement, Sample, Survival
from gi_cuda.results.verdict import LEAST_FLOOR, Verdict, is_settled
from gi_cuda.subject import Subject

NOISE = 0.003
"""Standard deviation of a measured ratio."""

WIDTH = 1.96 * NOISE
"""Half of its 95 % interval."""

SLOWED = 1.2
"""Factor by which a disturbed run is slower."""


class Truth(Protocol):
    """Interface of landscapes: the true times of variants."""

    @property
    def subject(self) -> Subject:
        """Return the subject."""

    def ratio(self, effects: frozenset[Effect]) -> float | None:
        """Return the ratio of a variant's time to the reference's; None if it is wrong."""

    def share(self, ratio: float) -> float:
        """Return the share of the best possible gain that a ratio is, in logarithms."""


@dataclass(frozen=True, slots=True)
class Row:
    """The effects of a genotype, and a key of them."""

    effects: frozenset[Effect]
    key: bytes


@dataclass
class TableEvaluator:
    """Evaluates genotypes by a landscape; the same genotype measures the same each time.

    Attributes:
        landscape: the true times.
        seed: seed of the noise.
        disturbed: share of timed runs that something slows down. If it is not 0, variants are timed
            in pairs, as many as the rules of sampling ask for.
        curve: number of evaluations at which each share of the optimum was first reached.
        spent: evaluations so far.
    """

    landscape: Truth
    seed: int
    disturbed: float = 0.0
    curve: list[tuple[int, float]] = field(default_factory=lambda: [(0, 0.0)])
    spent: int = 0

    def prepare(self, batch: Mapping[int, Genotype]) -> dict[int, Row]:
        """Find the effects of genotypes; genotypes with equal effects have one key."""
        found = {}
        for ident, genotype in batch.items():
            effects = effects_of(self.landscape.subject, genotype)
            key = xxh3_128_digest(repr(sorted(effects)).encode("utf-8", "surrogateescape"))
            found[ident] = Row(effects, key)
        return found

    def evaluate(
        self,
        batch: Mapping[int, Row],
        stop: Callable[[], bool],
        more: Callable[[], Mapping[int, Row]] = dict,
    ) -> Generator[tuple[int, Evaluation], None, None]:
        """Yield the evaluations of individuals in their order."""
        left = deque(batch.items())
        while left and not stop():
            ident, row = left.popleft()
            yield ident, self.look_up(row)
            if left:
                left.extend(more().items())

    def look_up(self, row: Row) -> Evaluation:
        """Return the simulated measurement of a genotype."""
        self.spent += 1
        rng = random.Random(self.seed ^ int.from_bytes(row.key, "little"))
        ratio = self.landscape.ratio(row.effects)
        if ratio is None:
            return _failure(rng)
        share = self.landscape.share(ratio)
        if share > self.curve[-1][1]:
            self.curve.append((self.spent, share))
        if self.disturbed:
            return _paired(ratio, self.disturbed, rng)
        return _timed(ratio * (1 + rng.gauss(0, NOISE)))

    def reached(self, share: float) -> int | None:
        """Return the evaluations until a share of the optimum was reached; None if it was not."""
        return next((spent for spent, gained in self.curve if gained >= share), None)


def _failure(rng: random.Random) -> Evaluation:
    kind = rng.random()
    if kind < 0.35:
        return not_built("kernel.cu:1: does not compile")
    if kind < 0.5:
        return lost(Survival.CRASHED, "illegal access")
    return Evaluation(True, Survival.NORMAL, penalty=1.0, message="wrong answers")


def _paired(ratio: float, disturbed: float, rng: random.Random) -> Evaluation:
    """Simulate the measurement of a variant in pairs, some runs of which are disturbed."""
    sampling, samples = Sampling(), list[Sample]()

    def run(seconds: float) -> float:
        slowed = SLOWED if rng.random() < disturbed else 1.0
        return seconds * slowed * (1 + rng.gauss(0, NOISE))

    for wanted in (*range(sampling.screen, sampling.most, sampling.step), sampling.most):
        samples += [Sample("", run(ratio), run(1.0)) for _ in range(wanted - len(samples))]
        if is_settled(samples, sampling.screen, sampling.floor):
            break
    return measured(Measurement(0, Survival.NORMAL, 0.0, "", tuple(samples)), sampling.floor)


def _timed(ratio: float) -> Evaluation:
    low, high = ratio * (1 - WIDTH), ratio * (1 + WIDTH)
    verdict = Verdict.UNCERTAIN
    if high < 1 - LEAST_FLOOR:
        verdict = Verdict.FASTER
    elif low > 1 + LEAST_FLOOR:
        verdict = Verdict.SLOWER
    elif low >= 1 - LEAST_FLOOR and high <= 1 + LEAST_FLOOR:
        verdict = Verdict.SAME
    return Evaluation(True, Survival.NORMAL, 0.0, verdict, ratio, low, high)
