"""Compare one GPU with several: individuals per second, and equality of their results.

Searches with one seed on one target, one after the other. Each of ``--rounds`` gives devices and
processors: ``0:16`` is the first device and 16 processors, ``all:32`` all devices and 32
processors. Prints the rate of each round, baseline excluded, and for each two rounds how many of
their common individuals ended in the same way. Two rounds on one device show how much of that is
chance.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from gi_cuda.backends.table import ALL, open_backend
from gi_cuda.cli.search.clusters import by_its_own, made_ready
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.grammar import EDIT_SETS
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.generation import Phases
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import Plan
from gi_cuda.search import PRESETS
from gi_cuda.subject import Subject

EACH = 10
"""Length, in seconds, of the intervals in which individuals are counted."""


def searched(
    subject: Subject, words: str, plan: Plan, folder: Path, limit: float
) -> Mapping[str, Evaluation]:
    """Search for some seconds, print the rate, and return the result of each genotype."""
    begun = time.perf_counter()
    devices = len(open_backend(subject.backend, plan.devices).devices)
    with (
        made_ready(by_its_own, devices) as where,
        create_run(subject, folder, plan, tell=lambda _: None) as run,
    ):
        made = time.perf_counter() - begun
        since, until, times = 0.0, begun + made + limit, list[float]()
        try:
            with where(run, lambda: False) as place:
                search = run.evolution(lambda: time.perf_counter() > until, place.evaluator)
                for progress in search.run():
                    since = time.perf_counter() - begun - made
                    if progress.ident is not None:
                        times.append(since)
        finally:  # what was finished counts even where there was no time for all
            seconds = min(since, limit)
            within = sum(one <= seconds for one in times)
            found = _told(run, words, made, within, seconds)
            ended = time.perf_counter() - begun - made - since
            print(f"    it ended {ended:.1f} s after the last one", flush=True)
            arrived = Counter(int(one // EACH) for one in times)
            each = " + ".join(str(arrived[one]) for one in range(max(arrived, default=0) + 1))
            print(f"    in each {EACH} s: {each}", flush=True)
    return found


def _told(
    run: Run, words: str, made: float, number: int, seconds: float
) -> Mapping[str, Evaluation]:
    """Print the speed of a search and of its devices; return the result of each genotype.

    Args:
        made: seconds until the search began.
        number: number of individuals evaluated.
        seconds: time in which they were evaluated.
    """
    names = {one.ident: one.genotype for one in run.store.individuals()}
    finished = [one for one in run.store.generations() if one.finished]
    spent = sum((one.phases for one in finished), Phases())
    on_each = run.baseline.on_each or (run.baseline.seconds,)
    print(
        f"{words:8} {number / seconds:7.1f} individuals/s: {number} in {seconds:.1f} s, generations"
        f" {' + '.join(f'{one.phases.wall:.1f}' for one in finished)} s, after {made:.1f} s;"
        f" compiling {spent.compile:.1f} s, the search {spent.search:.1f} s;"
        f" {run.tools.pool.deaths} workers died; noise floor {run.baseline.floor:.2%}; reference"
        f" {', '.join(f'{1e3 * one:.3f}' for one in on_each)} ms",
        flush=True,
    )
    return {names[ident]: one for ident, one in run.store.evaluations().items()}


def alike(one: Mapping[str, Evaluation], other: Mapping[str, Evaluation]) -> str:
    """Describe how many common individuals of two searches ended in the same way."""
    both = one.keys() & other.keys()
    same = sum(one[name].outcome is other[name].outcome for name in both)
    right = sum(one[name].right is other[name].right for name in both)
    return f"{len(both)} in both: {same} of the same outcome, {right} right or wrong in both"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", type=Path)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--rounds", nargs="+", default=["0:16", "0:32", "all:32", "0:32"])
    parser.add_argument("--population", type=int)
    parser.add_argument("--generations", type=int)
    parser.add_argument("--time", type=float, default=math.inf, help="seconds of each search")
    parser.add_argument("--preset", choices=PRESETS, default="adaptive")
    parser.add_argument("--edits", choices=EDIT_SETS, default="full")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    subject = open_subject(options.target, options.backend, edits=options.edits)
    cores = sorted(os.sched_getaffinity(0))
    found: list[Mapping[str, Evaluation]] = []
    with tempfile.TemporaryDirectory(prefix="gi-cuda-bench-") as scratch:
        for number, words in enumerate(options.rounds):
            devices, jobs = words.split(":")
            os.sched_setaffinity(0, cores[: int(jobs)])
            chosen = ALL if devices == "all" else tuple(map(int, devices.split(",")))
            on = len(open_backend(options.backend, chosen).devices)
            settings = PRESETS[options.preset].settings
            settings = settings.having(options.population, options.generations, on)
            plan = Plan(options.preset, settings, options.seed, 1, int(jobs), chosen)
            new = searched(subject, words, plan, Path(scratch) / str(number), options.time)
            for before, old in zip(options.rounds, found, strict=False):
                print(f"    and {before:8} {alike(new, old)}", flush=True)
            found.append(new)


if __name__ == "__main__":
    main()
