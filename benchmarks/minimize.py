"""Measure the loss by minimizing: winners against their minimized versions.

``python -m benchmarks.minimize RUN`` minimizes the best individuals of a run that has a device. It
measures each winner, without changes that turned out wrong, beside its minimized version, in fresh
processes and separate builds. The loss must not exceed the noise floor.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from gi_cuda.analyze.minimizing.minimization import Minimization
from gi_cuda.analyze.minimizing.minimize import Allowance, Measurers, WrongWinner, minimize
from gi_cuda.evaluate.replicates import GenotypeMeasurer
from gi_cuda.genome import Changed, Genotype
from gi_cuda.results.speed_up import SpeedUp, contrast
from gi_cuda.runs.run import Run, open_run
from gi_cuda.spec import CaseRole


def minimized(run: Run, changes: Changed) -> tuple[Minimization, Genotype]:
    """Return the minimization of a winner, and the winner without the changes that are wrong.

    Raises:
        WrongWinner: the winner is wrong in the form that a maintainer would get.
    """
    train = run.measurer(CaseRole.TRAIN)
    held_out = run.measurer(CaseRole.HELD_OUT, builds=1, pairs=1)
    with run.confirming() as confirm:
        measurers = Measurers(train, held_out, confirm.judge(), train.beside, confirm.beside)
        result = minimize(changes, measurers, Allowance(floor=run.baseline.floor))
    wrong = {one.change for one in result.dropped if one.gain is None}
    right = [at for at, one in enumerate(changes.changes) if str(one) not in wrong]
    return result, changes.having(right)


def loss(run: Run, winner: Genotype, left: Genotype, builds: int) -> SpeedUp | None:
    """Return the speed-up of a winner over its minimized version; None if the latter is wrong."""
    measurer = run.measurer(CaseRole.TRAIN, builds=builds).beside(winner)
    fresh = replace(measurer.replicates, fresh=True)
    (reading,) = GenotypeMeasurer(fresh)([left])
    return contrast([(-1, reading)]) if reading.right else None


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--number", type=int, default=20, help="individuals that are minimized")
    parser.add_argument("--builds", type=int, default=11, help="of each, when measured anew")
    options = parser.parse_args()
    table = Table("individual", "changes", "wrong", "do not pay", "loss, measured anew")
    lost = measured = 0
    with open_run(options.run) as run:
        for found, _ in run.store.best(options.number):
            genotype = run.subject.read(found.genotype)
            changes = Changed.of(genotype, run.subject.original, run.subject.order)
            start = [str(found.ident), str(len(changes.changes))]
            try:
                result, winner = minimized(run, changes)
            except WrongWinner as error:
                table.add_row(*start, "", "", f"wrong without guards: {error}")
                continue
            left = run.subject.read(result.genotype)
            measuring = loss(run, winner, left, options.builds)
            wrong = sum(one.gain is None for one in result.dropped)
            counts = str(wrong), str(len(result.dropped) - wrong)
            table.add_row(*start, *counts, str(measuring or "wrong"))
            measured += measuring is not None
            lost += measuring is not None and measuring.low > 1 + run.baseline.floor
        floor = run.baseline.floor
    console = Console(width=120)
    console.print(table)
    console.print(f"noise floor {floor:.1%}: {lost} of {measured} certainly lost more")


if __name__ == "__main__":
    main()
