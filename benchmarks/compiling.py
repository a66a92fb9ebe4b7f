"""Measure a search without launches: breeding, preprocessing and compiling with nvcc.

Runs a search whose individuals are built and never executed, so it needs no GPU. Every other one of
those that compile counts as a good parent. Prints, for each individual, the processor time of this
process by phase and that of the compilers, and the share of a machine with ``--cores`` cores that
the search would take at ``--rate`` individuals a second. ``--profile FILE`` writes a profile for
``pstats``.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gi_cuda.backends.protocol.variants import BuildFailure, Compiler, Phenotype
from gi_cuda.backends.table import open_compiler
from gi_cuda.evaluate.batches.passes import Trial
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Evaluation, not_built
from gi_cuda.results.generation import Phases
from gi_cuda.results.measurement import Survival
from gi_cuda.results.verdict import Verdict
from gi_cuda.search import PRESETS
from gi_cuda.search.loop import Evolution
from gi_cuda.store import Store
from gi_cuda.subject import Subject

ROOT = Path(__file__).parent.parent


@dataclass
class Builder:
    """An evaluator that builds and never measures.

    Attributes:
        spent: processor seconds of this process, by phase.
        once: processor seconds before the first shards, mostly for work done once in a run.
    """

    subject: Subject
    compiler: Compiler
    folder: Path
    spent: Counter[str] = field(default_factory=Counter)
    once: float = 0.0

    def prepare(self, batch: Mapping[int, Genotype]) -> dict[int, Trial]:
        """Render and preprocess individuals."""
        begun = time.process_time()
        variants = [candidate(self.subject, one, {}).variant(i) for i, one in batch.items()]
        self.spent["render"] += time.process_time() - begun
        begun = time.process_time()
        found = self.compiler.preprocess(variants)
        self.spent["preprocess"] += time.process_time() - begun
        return {
            ident: Trial(one.configuration, found[ident], "", one) for ident, one in batch.items()
        }

    def evaluate(
        self, batch: Mapping[int, Trial], stop: object, more: object
    ) -> Generator[tuple[int, Evaluation], None, None]:
        """Build a batch; good parents are those with an even number."""
        for ident, trial in batch.items():
            if isinstance(trial.phenotype, BuildFailure):
                yield ident, not_built(trial.phenotype.message)
        ready = [p for one in batch.values() if isinstance(p := one.phenotype, Phenotype)]
        begun = time.process_time()
        building = self.compiler.compile(ready, self.folder)
        self.once += time.process_time() - begun
        begun = time.process_time()
        for built in building:
            self.spent["compile"] += time.process_time() - begun
            if isinstance(built, BuildFailure):
                yield built.ident, not_built(built.message)
            else:
                verdict = (Verdict.FASTER, Verdict.SLOWER)[built.ident % 2]
                yield (
                    built.ident,
                    Evaluation(True, Survival.NORMAL, 0.0, verdict, 0.9, code_key=built.code_key),
                )
            begun = time.process_time()


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", type=Path, default=ROOT / "targets" / "bwt_exact")
    parser.add_argument("--population", type=int, default=250)
    parser.add_argument("--generations", type=int, default=2)
    parser.add_argument("--edits", choices=("paper", "full"), default="paper")
    parser.add_argument("--cores", type=int, default=16)
    parser.add_argument("--rate", type=float, default=250)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--profile", type=Path)
    options = parser.parse_args()
    subject = open_subject(options.target, "cuda", edits=options.edits)
    compiler = open_compiler(subject, len(os.sched_getaffinity(0)))
    preset = PRESETS["barracuda"]
    settings = preset.settings.having(options.population, options.generations)
    profile = cProfile.Profile(time.process_time)
    with tempfile.TemporaryDirectory(prefix="gi-cuda-bench-") as scratch:
        builder = Builder(subject, compiler, Path(scratch) / "build")
        with Store(Path(scratch) / "run.sqlite", create=True) as store:
            evolution = Evolution(
                store=store,
                evaluator=builder,
                phases=Phases,
                strategy=preset.strategy(settings),
                variation=preset.vary(subject),
                settings=settings,
                seed=options.seed,
                stop=lambda: False,
            )
            if options.profile:
                profile.enable()
            begun = time.process_time()
            for _ in evolution.run():
                pass
            mine = time.process_time() - begun - builder.once
            profile.disable()
            evaluations = store.evaluations()
    if options.profile:
        profile.dump_stats(options.profile)
    number = len(evaluations)
    spent = {"search": mine - sum(builder.spent.values()), **builder.spent, "all": mine}
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    theirs = children.ru_utime + children.ru_stime
    failed = sum(not one.built for one in evaluations.values())
    print(f"{number} individuals, {failed} do not compile")
    for phase, seconds in spent.items():
        print(f"  {phase:<10} {1000 * seconds / number:7.3f} ms of this process for each")
    print(f"  and {builder.once:.2f} s once")
    print(f"  compilers  {1000 * theirs / number:7.1f} ms for each")
    print(f"at {options.rate:g} a second: {100 * mine / number * options.rate:.1f} % of a core for")
    print(f"the search, {100 * theirs / number * options.rate / options.cores:.0f} % of")
    print(f"{options.cores} cores for compilers")


if __name__ == "__main__":
    main()
