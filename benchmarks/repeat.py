"""Measure a winner's speed-up repeatedly, each time in a fresh process.

``python -m benchmarks.repeat RUN`` takes the best individual of a run that has a device, builds it
and the reference anew, and measures the pair in ten fresh processes, on the train cases and on the
held-out ones.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from gi_cuda.analyze.finalists.finalists import finalists
from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import (
    Measure,
    Record,
)
from gi_cuda.backends.protocol.variants import Binary
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.evaluate.reference.baseline import compile_reference
from gi_cuda.results.measurement import Measurement
from gi_cuda.results.statistics import ratios
from gi_cuda.runs.run import Run, open_run


def speed_ups(run: Run, cases: tuple[str, ...], times: int, pairs: int) -> list[float]:
    """Return the speed-ups of the best individual in fresh processes, one after the other."""
    subject, tools = run.subject, run.tools
    mine = candidate(subject, finalists(run)[0][1])
    built = build_batch(tools.compiler, [mine.variant(1)], tools.scratch("winner"))[1]
    source = subject.reference
    (base,) = compile_reference(subject, tools.compiler, [source], tools.scratch("reference"))
    assert isinstance(built, Binary), built
    reference = Program(base, dict(subject.original.configuration), cases)
    program = mine.program(built, cases)
    sampling = Sampling(screen=pairs, most=pairs, limit=run.baseline.limit)
    tools.pool.one(Record(reference, tools.reference, max(2, subject.target.oracle.runs), 60.0))
    found = []
    for _ in range(times):
        answer = tools.pool.one(Measure(program, reference, sampling))
        assert isinstance(answer, Measurement), answer
        assert answer.correct, answer.message
        found.append(1 / float(np.median(ratios(answer.samples))))
    return found


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--times", type=int, default=10, help="fresh processes")
    parser.add_argument("--pairs", type=int, default=31, help="pairs of launches in each")
    options = parser.parse_args()
    table = Table("cases", "speed-ups", "mean", "lowest to highest")
    with open_run(options.run) as run:
        ident, genotype = finalists(run)[0]
        parts = {"fitness": run.tools.train(), "held out": run.tools.held_out()}
        for name, cases in parts.items():
            found = speed_ups(run, cases, options.times, options.pairs)
            mean, spread = float(np.mean(found)), max(found) - min(found)
            each = " ".join(f"{one:.4f}" for one in found)
            table.add_row(name, each, f"{mean:.4f}", f"{spread / mean:.2%}")
    console = Console(width=110)
    console.print(f"individual {ident}: {genotype}", highlight=False)
    console.print(table)


if __name__ == "__main__":
    main()
