"""Compare the operators by which a search makes individuals, from a run's database.

    python -m benchmarks.origins RUN [--parts 3]

Prints, by part of the search, by origin and by number of changes: the number of individuals, the
shares that were right and faster, the number of new bests, and their total gain over the best
before them, as a share of the reference's time.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from gi_cuda.genome.genotype import changes_of
from gi_cuda.results.evaluation import Evaluation, Outcome
from gi_cuda.runs.stored import open_store, stored_subject

SIZES = (0, 2, 5, 13, 25)
"""Lower bounds of the classes of numbers of changes."""

Row: TypeAlias = tuple[int, str, int]
"""Part of the search, origin, and lower bound of the number of changes."""


@dataclass(slots=True)
class Yield:
    """Statistics of some individuals.

    Attributes:
        number, right, faster, best: numbers of all, right, faster and new best individuals.
        gain: total gain of the new bests, as a share of the reference's time.
    """

    number: int = 0
    right: int = 0
    faster: int = 0
    best: int = 0
    gain: float = 0.0

    def enter(self, evaluation: Evaluation, gain: float) -> None:
        """Add an individual."""
        self.number += 1
        self.right += evaluation.right
        self.faster += evaluation.outcome is Outcome.FASTER
        self.best += gain > 0
        self.gain += gain


def yields(run: Path, parts: int) -> dict[Row, Yield]:
    """Return the statistics of a run's individuals."""
    found: dict[Row, Yield] = defaultdict(Yield)
    best = 1.0
    with open_store(run) as store:
        subject = stored_subject(store, run)
        bred = sum(one.cohorts for one in store.generations())
        for number in range(bred + 1):
            for individual, evaluation in store.came(number):
                changes = len(changes_of(subject.read(individual.genotype)))
                size = max(one for one in SIZES if one <= changes)
                high = evaluation.high if evaluation.outcome is Outcome.FASTER else None
                gain = max(0.0, best - high) if high is not None else 0.0
                best -= gain
                part = min(parts - 1, parts * number // max(1, bred))
                found[part, individual.origin, size].enter(evaluation, gain)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--parts", type=int, default=3, help="of the search, by what was bred")
    options = parser.parse_args()
    names = {low: f"{low} to {high - 1}" for low, high in pairwise(SIZES)}
    names[SIZES[-1]] = f"{SIZES[-1]} or more"
    for (part, origin, size), one in sorted(yields(options.run, options.parts).items()):
        print(
            f"part {part + 1} {origin:9} {names[size]:10} changes: {one.number:5},"
            f" {one.right / one.number:.2f} right, {one.faster / one.number:.2f} faster;"
            f" {one.best:3} the best so far, {one.gain:.3f} of the reference's time"
        )


if __name__ == "__main__":
    main()
