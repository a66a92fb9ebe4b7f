"""Measure the time to detect variants every one of which would hang in a barrier.

Plants this fault into a kernel, at another place for each variant, rehearses all of them, and
prints
the seconds taken and the number of workers that died.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

from gi_cuda.evaluate.batches.batch import Batch
from gi_cuda.evaluate.batches.experience.past_results import PastResults
from gi_cuda.evaluate.batches.passes import REFERENCE, Trial
from gi_cuda.evaluate.batches.rehearsal import of_all
from gi_cuda.evaluate.batches.rehearsal_choice import rehearsal_of
from gi_cuda.evaluate.candidates import as_candidate
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import Plan
from gi_cuda.search import DEFAULT, PRESETS

TARGET = Path(__file__).parent.parent / "tests" / "targets" / "scale"
LAST = "        out[at] = mine;\n"
FAULTS = (
    "for (;;) {{ __syncthreads(); if (mine == {number}.5f) break; }}",
    "if (threadIdx.x % 32 < {number} % 31 + 1) __syncthreads(); else __syncwarp();",
    "while (threadIdx.x != {number} % 32) __syncthreads();",
)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--number", type=int, default=300)
    options = parser.parse_args()
    subject = open_subject(TARGET, "cuda")
    plan = Plan(DEFAULT, PRESETS[DEFAULT].settings.having(1, 1), 1, 1, os.cpu_count() or 1)
    with (
        tempfile.TemporaryDirectory(prefix="gi-cuda-bench-") as scratch,
        create_run(subject, Path(scratch) / "run", plan) as run,
    ):
        storm(run, options.number)


def storm(run: Run, number: int) -> None:
    """Plant the faults, run the variants, print the result."""
    source, standard = run.subject.reference, run.subject.standard
    assert source.count(LAST) == 1
    texts = {
        ident: source.replace(LAST, f"        {FAULTS[ident % 3].format(number=ident)}\n{LAST}")
        for ident in range(REFERENCE + 1, REFERENCE + 1 + number)
    }
    evaluator = run.evaluator()
    equipment, reference = evaluator.equipment, evaluator.unmodified()
    variants = [as_candidate(run.subject, t, standard).variant(i) for i, t in texts.items()]
    found = equipment.compiler.preprocess(variants)
    trials = {i: Trial(standard, one, "") for i, one in found.items()}
    sampling = evaluator.bounds.sampling
    how = rehearsal_of(run.subject, equipment, reference, sampling)
    before, begun = equipment.pool.deaths, time.perf_counter()
    work = Batch(equipment, reference, trials, sampling, PastResults(), how and of_all(how, trials))
    words = Counter(str(one.outcome) for _, one in work.run(lambda: False))
    seconds = time.perf_counter() - begun
    died = equipment.pool.deaths - before
    print(f"{number} variants in {seconds:.1f} s; {dict(words)}; workers that died: {died}")


if __name__ == "__main__":
    main()
