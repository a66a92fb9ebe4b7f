"""Measure the latency of an asynchronous search's evaluations, from the run's database.

    python -m benchmarks.latency RUN [--generations 0 1 2 4 8 16]

Prints, by generation and outcome, how many cohorts were bred between an individual and its record:
the median, and that of the slowest tenth. Earlier cohorts cannot learn from the individual.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from statistics import median

from gi_cuda.results.evaluation import Outcome
from gi_cuda.runs.stored import open_store, stored_plan


def waits(run: Path) -> dict[tuple[int, Outcome], list[int]]:
    """Return the number of cohorts bred between each individual and its record."""
    found: dict[tuple[int, Outcome], list[int]] = defaultdict(list)
    with open_store(run) as store:
        size = stored_plan(store).settings.cohort
        bred = sum(one.cohorts for one in store.generations())
        first = min(one.ident for one in store.individuals())
        for number in range(bred + 1):
            for individual, evaluation in store.came(number):
                own = 1 + (individual.ident - first) // size
                found[individual.generation, evaluation.outcome].append(number - own)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--generations", type=int, nargs="+", default=[0, 1, 2, 4, 8, 16])
    options = parser.parse_args()
    found = waits(options.run)
    for generation in options.generations:
        for outcome in Outcome:
            if some := sorted(found[generation, outcome]):
                slow, words = some[int(0.9 * len(some))], f"{outcome.value:10} {len(some):4}"
                print(
                    f"generation {generation:3} {words}: {median(some):5.1f} cohorts,"
                    f" {slow} for the slowest tenth"
                )


if __name__ == "__main__":
    main()
