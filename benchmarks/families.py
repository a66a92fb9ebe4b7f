"""Gains of single transformations, read from the databases of runs.

    python -m benchmarks.families RUN...

A search begins with single transformations on the original source. For each family and run the
fastest of these counts; a run whose singles of a family are wrong or slower counts 1.0. No GPU is
needed: the runs' own measurements are read.
"""

from __future__ import annotations

import argparse
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from gi_cuda.grammar.rule_types import TRANSFORMS
from gi_cuda.runs.stored import DATABASE
from gi_cuda.store import Store

_SINGLE = re.compile(r"<(\w+?)_[^<>]*><(\w+_K\w*)>")
FASTER = 1.01
"""Smallest speed-up of a single transformation that counts as faster."""


@dataclass(frozen=True, slots=True)
class Single:
    """One transformation alone.

    Attributes:
        speed_up: over the original, by the search's own few pairs; 0 if it was wrong.
    """

    family: str
    choice: str
    speed_up: float


def singles(store: Store) -> Iterator[Single]:
    """Yield the individuals of a run that are a single transformation."""
    evaluations = store.evaluations()
    for one in store.individuals():
        match, evaluation = _SINGLE.fullmatch(one.genotype), evaluations.get(one.ident)
        if match and evaluation and match[1] in TRANSFORMS:
            ratio = evaluation.ratio if evaluation.right else None
            yield Single(match[1], match[2], 1 / ratio if ratio else 0.0)


def table(runs: Mapping[str, Sequence[Single]]) -> Table:
    """Return a row for each family: runs that offer it, right and faster runs, its best."""
    best: dict[str, dict[str, Single]] = defaultdict(dict)
    for name, found in runs.items():
        for one in sorted(found, key=lambda one: one.speed_up):
            best[one.family][name] = one
    shown = Table("family", "runs", "right", "faster", "geometric mean", "best")
    for family, fastest in sorted(best.items()):
        gains = [one.speed_up for one in fastest.values()]
        mean = math.exp(sum(math.log(max(1.0, gain)) for gain in gains) / len(gains))
        top = max(fastest, key=lambda name: fastest[name].speed_up)
        right, faster = (sum(gain > least for gain in gains) for least in (0.0, FASTER))
        said = f"{fastest[top].speed_up:.2f} ({fastest[top].choice}, {top})"
        shown.add_row(family, *map(str, (len(gains), right, faster)), f"{mean:.3f}", said)
    return shown


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    runs = parser.parse_args().runs
    stores = {run.resolve().parent.name: Store(run / DATABASE) for run in runs}
    Console().print(table({name: list(singles(store)) for name, store in stores.items()}))


if __name__ == "__main__":
    main()
