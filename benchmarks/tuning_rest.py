"""Check what ``gi-cuda tune`` says of the rest of a space, on recorded configuration spaces.

    python -m benchmarks.tuning_rest A4000.json.gz RTX_3090.json.gz --repeats 20

Files are as in :mod:`benchmarks.tuning`. The tables show how often the statement "the rest of the
space is, with 95 % confidence, at most x times as fast as the best" is true, with the median of x,
after some numbers of evaluations. For searches that end by ``--until 0.95`` they show how often the
best found then has 95 % of the speed of the best of the rest, of how many that end so, and the
median number of evaluations. Failing points count as evaluations.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from gi_cuda.tune.records.recorded import Recorded, read_recorded
from gi_cuda.tune.records.simulation import Simulated, simulate
from gi_cuda.tune.searcher import SearcherKind
from gi_cuda.tune.searchers import find_searcher

BUDGETS = (50, 100, 200, 400)
UNTIL = 0.95


def claims(runs: Sequence[Simulated], budget: int) -> list[tuple[float, float]]:
    """Return what each search said of the rest after so many evaluations, and what is true."""
    found = []
    for run in runs:
        begun = Simulated(run.recorded, run.searcher, run.points[:budget])
        if (said := begun.rest) is not None:
            found.append((said, begun.true_rest))
    return found


def is_true(said: float, true: float) -> bool:
    """Tell whether a bound on the remaining gain holds; a bound below 1 says that nothing is
    faster.
    """
    return true <= max(said, 1.0) * (1.0 + 1e-9)


def _row(
    recorded: Recorded, kind: SearcherKind, repeats: int, budgets: Sequence[int], until: bool
) -> list[str]:
    runs = [simulate(recorded, kind, seed, max(budgets)) for seed in range(repeats)]
    row = [kind.name]
    for budget in budgets:
        said = claims(runs, budget)
        true = sum(is_true(*one) for one in said)
        median = max(statistics.median([one for one, _ in said] or [0.0]), 1.0)
        row.append(f"{true}/{len(said)} {median:.3g}")
    if until:
        most = max(budgets)
        ended = [simulate(recorded, kind, seed, most, until=UNTIL) for seed in range(repeats)]
        ended = [run for run in ended if len(run.points) < min(most, recorded.grid.size)]
        true = sum(is_true(1 / UNTIL, run.true_rest) for run in ended)
        count = statistics.median([len(run.points) for run in ended] or [0])
        row.append(f"{true}/{len(ended)} {count:.0f}")
    return row


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--searchers", nargs="+", default=["bayes", "local", "genetic", "random"])
    parser.add_argument("--until", nargs="*", default=["bayes"], help="searchers ended by --until")
    parser.add_argument("--repeats", type=int, default=20, help="seeds of each searcher")
    parser.add_argument("--budgets", type=int, nargs="+", default=BUDGETS, help="evaluations")
    options = parser.parse_args()
    kinds = [find_searcher(name, "--searchers") for name in options.searchers]
    for file in options.files:
        recorded = read_recorded(file)
        title = f"{file}: {len(recorded.costs)} configurations; statements that are true, median"
        shown = Table("searcher", *map(str, options.budgets), f"until {UNTIL}", title=title)
        for kind in kinds:
            until = kind.name in options.until
            shown.add_row(*_row(recorded, kind, options.repeats, options.budgets, until))
        Console().print(shown)


if __name__ == "__main__":
    main()
