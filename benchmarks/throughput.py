"""Measure individuals per second, and the share of each phase: ``make bench``.

Runs a short search on the demo's target, in a scratch folder, and prints the rate over all
generations, the share of every phase, and the share of individuals that compiled. On a GPU, whole
generations as in the paper: ``--backend cuda --population 1000``.

Compiled code is cached as for users, in a cache that is empty at the start; ``--no-cache`` disables
it.

On a virtual machine, other machines on its host may take processor time away. The stolen share is
printed, too: with more than a few per cent, the rate is lower than that of the given cores.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console

from gi_cuda import BACKENDS
from gi_cuda.backends.compile.caching.cached import CachedCompiler
from gi_cuda.backends.compile.caching.code_cache import CodeCache
from gi_cuda.backends.table import open_backend
from gi_cuda.evaluate.batches.compiled_parts import Parts
from gi_cuda.evaluate.batches.passes import REFERENCE, TrialBuilder
from gi_cuda.evaluate.batches.rehearsal_choice import rehearsal_of
from gi_cuda.evaluate.batches.schemata import SchemaBuilder, grouped
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.grammar import EDIT_SETS, LEVELS
from gi_cuda.report.results.show import generations_table, phases_table
from gi_cuda.results.evaluation import Outcome
from gi_cuda.results.generation import Generation, Phases
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import Plan
from gi_cuda.search import PRESETS

ROOT = Path(__file__).parent.parent

LARGE = 2**30
"""Size limit of the cache in bytes, too large to be reached."""


@dataclass(frozen=True, slots=True)
class _Ticks:
    """Processor time of all cores since the machine started, in the kernel's ticks."""

    total: int
    stolen: int

    @classmethod
    def now(cls) -> _Ticks | None:
        """Return the present values; None if the kernel does not tell them."""
        try:
            words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
            user, nice, system, idle, waiting, hard, soft, stolen = map(int, words[1:9])
        except (OSError, ValueError):
            return None
        return cls(user + nice + system + idle + waiting + hard + soft + stolen, stolen)


def _taken(before: _Ticks | None, after: _Ticks | None) -> str:
    """Return the share of processor time that the machine's host gave to other machines."""
    if before is None or after is None:
        return ""
    share = (after.stolen - before.stolen) / max(1, after.total - before.total)
    return f"; {share:.1%} of all processor time was taken by others on the machine's host"


def _computed() -> float:
    """Return processor seconds of this process and of all its children that ended."""
    mine, theirs = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


def _finished(run: Run) -> list[Generation]:
    """Return the generations that were evaluated completely."""
    return [one for one in run.store.generations() if one.finished]


def _alone(run: Run) -> str:
    """Measure the steps of the last generation separately: compiling, and launches of right
    variants.
    """
    last = _finished(run)[-1]
    found, evaluator = run.store.evaluations(last.number), run.evaluator()
    bred = run.store.individuals(last.number)
    trials = evaluator.prepare({one.ident: run.subject.read(one.genotype) for one in bred})
    reference, equipment = evaluator.unmodified(), evaluator.equipment
    if isinstance(equipment.compiler, CachedCompiler):
        equipment = replace(equipment, compiler=equipment.compiler.inner)
    # A variant that failed its rehearsal was not built by itself, so it has no code key.
    failed = any(one.built and one.code_key is None for one in found.values())
    sampling = evaluator.bounds.sampling
    how = rehearsal_of(run.subject, equipment, reference, sampling) if failed else None
    right = {ident for ident, one in found.items() if one.right}
    everything, parts = {REFERENCE: reference, **trials}, Parts()
    builders = [
        (TrialBuilder(equipment.compiler, everything, parts), right if how else set(trials))
    ]
    if how is not None:
        groups = grouped(run.subject, trials, how.compiler)
        rehearsing = SchemaBuilder(how.compiler, everything, parts, run.subject, groups)
        builders.insert(0, (rehearsing, set(trials)))
    seconds = []
    for builder, some in builders:
        begun = time.perf_counter()
        for _ in builder.built(sorted(some), run.tools.scratch("alone")):
            pass
        seconds.append(time.perf_counter() - begun)
    launches = sum(
        sample.variant + sample.reference / equipment.together
        for ident in right
        for sample in found[ident].samples
    )
    return (
        f"\nthe last generation took {last.phases.wall:.2f} s; compiling it alone"
        f" {' + '.join(f'{one:.2f}' for one in seconds)} s, launches of what was right"
        f" {launches:.2f} s"
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, default=ROOT / "targets" / "bwt_exact")
    parser.add_argument("--backend", choices=BACKENDS, default="host")
    parser.add_argument("--population", type=int, default=100)
    parser.add_argument("--generations", type=int, default=6)
    parser.add_argument("--preset", choices=PRESETS, default="barracuda")
    parser.add_argument(
        "--cohorts", type=int, help="of a generation; the preset has its own number"
    )
    parser.add_argument("--level", choices=LEVELS, default="source")
    parser.add_argument("--edits", choices=EDIT_SETS, default="paper")
    parser.add_argument(
        "--alone", action="store_true", help="compile the last generation once more"
    )
    parser.add_argument("--no-cache", action="store_true", help="keep no compiled code")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--time", type=float, default=math.inf, help="seconds after which no generation is begun"
    )
    parser.add_argument("--run", type=Path, help="where the run is kept; otherwise it is not")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    settings = PRESETS[options.preset].settings.having(options.population, options.generations)
    settings = replace(settings, cohorts=options.cohorts or settings.cohorts)
    console = Console()
    with tempfile.TemporaryDirectory(prefix="gi-cuda-bench-") as scratch:
        subject = open_subject(options.target, options.backend, options.level, edits=options.edits)
        workers = open_backend(options.backend).workers(0, cores)
        plan = Plan(options.preset, settings, options.seed, workers, cores)
        cache = None if options.no_cache else CodeCache(Path(scratch) / "cache", LARGE, print)
        folder = options.run or Path(scratch) / "run"
        with create_run(subject, folder, plan, cache=cache) as run:
            before, computed = _Ticks.now(), _computed()
            begun, newest = time.perf_counter(), 0
            for progress in run.evolution().run():
                if progress.generation > newest and time.perf_counter() - begun > options.time:
                    break
                newest = progress.generation
            after, computed = _Ticks.now(), _computed() - computed
            generations = _finished(run)
            best = [run.store.best_ratio(g.number) for g in generations]
            device = run.tools.backend.device()
            deaths = run.tools.pool.deaths
            alone = _alone(run) if options.alone else ""
    total = sum((g.phases for g in generations), Phases())
    number = sum(sum(g.outcomes.values()) for g in generations)
    unbuilt = sum(g.outcomes.get(Outcome.NOT_BUILT, 0) for g in generations)
    console.print(generations_table(generations, best))
    console.print(phases_table(total, number))
    console.print(
        f"{number / total.wall:.1f} new individuals/s on {device}, compiled on {cores} cores;"
        f" the search's own work"
        f" {total.search / total.wall:.1%}, {total.idle / total.wall:.1%} while all else waits;"
        f" {1 - unbuilt / number:.1%} compiled; {deaths} workers died;"
        f" {computed / total.wall / cores:.1%} of the cores taken by compilers and the search"
        f"{_taken(before, after)}{alone}",
        highlight=False,
    )


if __name__ == "__main__":
    main()
