"""Check that variants give the same results with and without a rehearsal.

Draws random variants of a target, evaluates them with a rehearsal first, as a search does, and
again without. Prints a table of outcomes (right, wrong, crash, hang) in one way and in the other,
and names the variants that are right in only one of them.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from gi_cuda.backends.protocol.programs import Sampling
from gi_cuda.evaluate.batches.batch import Batch
from gi_cuda.evaluate.batches.experience.past_results import PastResults
from gi_cuda.evaluate.batches.passes import REFERENCE, Trial
from gi_cuda.evaluate.batches.rehearsal import FirstRun, of_all
from gi_cuda.evaluate.batches.rehearsal_choice import rehearsal_of
from gi_cuda.evaluate.evaluator import Bounds, Evaluator
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.evaluate.sampling import draw
from gi_cuda.grammar import EDIT_SETS, LEVELS
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import Plan
from gi_cuda.search import DEFAULT, PRESETS

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, default=ROOT / "targets" / "sw_tuned")
    parser.add_argument("--number", type=int, default=500)
    parser.add_argument("--edits", choices=EDIT_SETS, default="full")
    parser.add_argument("--level", choices=LEVELS, default="source")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    subject = open_subject(options.target, "cuda", options.level, edits=options.edits)
    settings = PRESETS[DEFAULT].settings.having(1, 1)
    plan = Plan(DEFAULT, settings, 1, 1, len(os.sched_getaffinity(0)))
    with (
        tempfile.TemporaryDirectory(prefix="gi-cuda-bench-") as scratch,
        create_run(subject, Path(scratch) / "run", plan) as run,
    ):
        compare(run, options.number, options.seed)


def compare(run: Run, number: int, seed: int) -> None:
    """Draw variants, run them in both ways, print the table."""
    evaluator = _evaluator(run)
    sampling = evaluator.bounds.sampling
    drawn = dict(enumerate(draw(run.subject, number, 1, seed), REFERENCE + 1))
    trials = evaluator.prepare(drawn)
    reference = evaluator.unmodified()
    how = rehearsal_of(evaluator.subject, evaluator.equipment, reference, sampling)
    if how is None:
        print("the reference, confined, is not right")
        return
    print(
        f"a confined launch may take {how.sampling.limit * 1e3:.1f} ms, others"
        f" {sampling.limit * 1e3:.1f} ms; overlooked: {sorted(how.sampling.overlooked)}"
    )
    rehearsed = _outcomes(evaluator, reference, trials, of_all(how, trials))
    free = _outcomes(evaluator, reference, trials, None)
    # A variant that fails its rehearsal is never built by itself, so has no code key.
    words = {
        i: _word(one) if one.code_key else f"{_word(one)}, rehearsed"
        for i, one in rehearsed.items()
    }
    table = Counter((words[i], _word(free[i])) for i in drawn)
    print(f"{'rehearsal':20} {'as it is':10} variants")
    for (one, other), count in table.most_common():
        print(f"{one:20} {other:10} {count:5}")
    for i in drawn:
        if rehearsed[i].right != (free[i].right or bool(rehearsed[i].code_key)):
            for name, found in ((words[i], rehearsed[i]), ("as it is", free[i])):
                print(f"{drawn[i]}: {name}: {_word(found)} {found.message[:150]}")


def _evaluator(run: Run) -> Evaluator:
    bounds = Bounds(
        run.baseline.loops, Sampling(limit=run.baseline.limit, floor=run.baseline.floor)
    )
    return Evaluator(run.subject, run.tools.equipment(), bounds)


def _outcomes(
    evaluator: Evaluator,
    reference: Trial,
    trials: Mapping[int, Trial],
    first: FirstRun | None,
) -> dict[int, Evaluation]:
    """Return the result of each variant, with or without a rehearsal."""
    equipment = evaluator.equipment
    pool = equipment.pool
    begun, before = time.perf_counter(), pool.deaths
    sampling = evaluator.bounds.sampling.untimed()
    work = Batch(equipment, reference, trials, sampling, PastResults(), first)
    found = dict(work.run(lambda: False))
    seconds = time.perf_counter() - begun
    print(f"{len(found)} in {seconds:.1f} s; workers that died: {pool.deaths - before}")
    return found


def _word(one: Evaluation) -> str:
    return "right" if one.right else str(one.outcome)


if __name__ == "__main__":
    main()
