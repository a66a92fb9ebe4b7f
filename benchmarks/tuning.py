"""Simulate searchers on recorded configuration spaces, beside the strategies of Kernel Tuner.

    python -m benchmarks.tuning A4000.json.gz RTX_3090.json.gz --repeats 100

The files are caches of Kernel Tuner that hold the time of every configuration of a space, such as
those of https://github.com/AutoTuningAssociation/benchmark_hub. Nothing is compiled or run. For
each searcher the table shows the median over all seeds of:

- the best time found over the optimum, after some numbers of evaluations;
- the number of evaluations until the best time is within 1.1 and 1.05 times the optimum.

A configuration that fails counts as an evaluation. The score is the mean over all seeds and
evaluations of (random - found) / (random - optimum), where "random" is the expected best time of a
random search: 0 is as good as random search, 1 is the optimum at once. It is taken up to the
evaluation at which random search has come 95 % of the way from the median to the optimum, as
Willemsen et al. 2024 ("A methodology for comparing optimization algorithms for auto-tuning") do
over time.

``--python`` names a Python that has ``kernel_tuner``. Its strategies are then run on the same
spaces, with their default settings. Kernel Tuner is not a dependency of this project.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from gi_cuda.tune.records.recorded import Recorded, read_recorded
from gi_cuda.tune.records.simulation import simulate
from gi_cuda.tune.searcher import SearcherKind
from gi_cuda.tune.searchers import SEARCHERS, find_searcher

BUDGETS = (25, 50, 100, 200, 400)
WITHIN = (1.1, 1.05)
STRATEGIES = (
    "random_sample",
    "genetic_algorithm",
    "dual_annealing",
    "basinhopping",
    "greedy_ils",
    "simulated_annealing",
    "pso",
    "diff_evo",
    "firefly_algorithm",
    "hybrid_vndx",
    "adaptive_tabu_greywolf",
    "bayes_opt",
)
REACHED = 0.95
"""The score ends where random search has come this share of the way to the optimum."""


@dataclass(frozen=True)
class Landscape:
    """A recorded space, and what random search finds in it.

    Attributes:
        name: folder and name of the file.
        recorded: all points, with their costs; None: the point fails.
    """

    name: str
    recorded: Recorded

    @classmethod
    def of_file(cls, path: Path) -> Landscape:
        """Read a file."""
        return cls(f"{path.parent.name}/{path.name.partition('.')[0]}", read_recorded(path))

    @cached_property
    def sorted(self) -> NDArray[np.float64]:
        """Return the costs in ascending order; infinity for points that fail."""
        costs = [np.inf if cost is None else cost for cost in self.recorded.costs.values()]
        return np.sort(np.array(costs))

    def expected(self, budget: int) -> NDArray[np.float64]:
        """Return the expected best cost of random search after 1, 2, ... evaluations.

        Where only failing points were drawn, the slowest point counts.
        """
        count = len(self.sorted)
        costs = np.minimum(self.sorted, self.sorted[np.isfinite(self.sorted)][-1])
        missed = np.ones(count + 1)  # the chance that none of the first k points was drawn
        below = np.arange(count)
        found = np.empty(budget)
        for drawn in range(min(budget, count)):
            missed[1:] *= np.maximum(count - drawn - below - 1, 0) / (count - drawn)
            found[drawn] = costs @ (missed[:-1] - missed[1:])
        found[count:] = costs[0]
        return found


def simulate_theirs(
    python: str, file: Path, strategies: Sequence[str], seeds: int, budget: int
) -> dict[str, list[list[float | None]]]:
    """Return the costs that strategies of Kernel Tuner find: by strategy, for each seed."""
    job = {"file": str(file), "strategies": strategies, "seeds": seeds, "budget": budget}
    script = Path(__file__).with_name("tuning_theirs.py")
    # -P: benchmarks/kernel_tuner.py would hide the package of that name.
    done = subprocess.run(
        [python, "-P", str(script)],
        input=json.dumps(job),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, list[list[float | None]]] = json.loads(done.stdout)
    return found


@dataclass(frozen=True)
class Summary:
    """The results of one searcher on one space.

    Attributes:
        best: by budget, the median of the best cost found over the optimum.
        evaluations: by factor of the optimum, the median of the evaluations until then; None: more
            than half of the seeds did not come so far.
        score: see the module.
    """

    best: dict[int, float]
    evaluations: dict[float, float | None]
    score: float

    @classmethod
    def of_runs(
        cls, space: Landscape, runs: Sequence[Sequence[float | None]], budget: int
    ) -> Summary:
        """Summarise the costs that each seed found. A run that ended early keeps its best."""
        optimum = space.sorted[0]
        curves = np.empty((len(runs), budget))
        for at, run in enumerate(runs):
            costs = (np.inf if cost is None else cost for cost in run)
            best = list(accumulate(costs, min))[:budget]
            curves[at] = best + best[-1:] * (budget - len(best))
        evaluations: dict[float, float | None] = {}
        for factor in WITHIN:
            there = curves <= factor * optimum
            first = np.where(there.any(1), there.argmax(1) + 1.0, np.inf)
            median = statistics.median(first.tolist())
            evaluations[factor] = median if np.isfinite(median) else None
        return cls(
            {n: float(np.median(curves[:, n - 1]) / optimum) for n in BUDGETS if n <= budget},
            evaluations,
            _score(space, curves, budget),
        )


def _score(space: Landscape, curves: NDArray[np.float64], budget: int) -> float:
    optimum, costs = space.sorted[0], space.sorted[np.isfinite(space.sorted)]
    expected = space.expected(budget)
    goal = np.median(costs) - REACHED * (np.median(costs) - optimum)
    end = int(np.argmax(expected <= goal)) + 1 if (expected <= goal).any() else budget
    gap = expected[:end] - optimum
    found = np.minimum(curves[:, :end], costs[-1]).mean(0)
    gained = (expected[:end] - found)[gap > 0] / gap[gap > 0]
    return float(gained.mean())


def table(space: Landscape, rows: dict[str, Summary], budget: int) -> Table:
    """Return the table of a space."""
    budgets = [n for n in BUDGETS if n <= budget]
    title = f"{space.name}: {len(space.sorted)} configurations"
    shown = Table("searcher", *map(str, budgets), *map(str, WITHIN), "score", title=title)
    for name, row in rows.items():
        counts = (row.evaluations[factor] for factor in WITHIN)
        shown.add_row(
            name,
            *(f"{row.best[n]:.3f}" for n in budgets),
            *("-" if count is None else f"{count:.0f}" for count in counts),
            f"{row.score:.3f}",
        )
    return shown


def _costs(
    space: Landscape, kind: SearcherKind, seed: int, budget: int, batch: int
) -> list[float | None]:
    """Return the costs that one search finds, in order, until it finds the optimum."""
    return simulate(space.recorded, kind, seed, budget, batch, space.recorded.optimum).costs


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument(
        "--searchers",
        nargs="+",
        default=[name for name in SEARCHERS if name != "profile"],
        help="names, or profile:MODEL.json",
    )
    parser.add_argument("--repeats", type=int, default=100, help="seeds of each searcher")
    parser.add_argument("--budget", type=int, default=max(BUDGETS), help="evaluations")
    parser.add_argument("--batch", type=int, default=1, help="points that are asked at a time")
    parser.add_argument("--python", help="a Python that has kernel_tuner")
    parser.add_argument("--strategies", nargs="*", default=STRATEGIES, help="of Kernel Tuner")
    parser.add_argument("--their-repeats", type=int, default=20)
    parser.add_argument("--json", type=Path, help="file for all numbers")
    options = parser.parse_args()
    kinds = [find_searcher(name, "--searchers") for name in options.searchers]
    results: dict[str, Any] = {}
    for file in options.files:
        space = Landscape.of_file(file)
        runs = {
            kind.name: [
                _costs(space, kind, seed, options.budget, options.batch)
                for seed in range(options.repeats)
            ]
            for kind in kinds
        }
        if options.python:
            theirs = simulate_theirs(
                options.python, file, options.strategies, options.their_repeats, options.budget
            )
            runs |= {f"Kernel Tuner {name}": costs for name, costs in theirs.items()}
        rows = {name: Summary.of_runs(space, costs, options.budget) for name, costs in runs.items()}
        Console().print(table(space, rows, options.budget))
        results[space.name] = {
            name: {"best": row.best, "evaluations": row.evaluations, "score": row.score}
            for name, row in rows.items()
        }
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
