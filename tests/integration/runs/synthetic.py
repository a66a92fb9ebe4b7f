"""Synthetic runs of any size: real genotypes with made-up results."""

from __future__ import annotations

from pathlib import Path
from random import Random

from gi_cuda.genome import Genotype, Rates, crossover, mutate
from gi_cuda.results.evaluation import Evaluation, lost, not_built
from gi_cuda.results.generation import Individual, Phases, Tally
from gi_cuda.results.measurement import Sample, Survival
from gi_cuda.results.verdict import Verdict
from gi_cuda.runs.stored import DATABASE
from gi_cuda.store import Store, Tabued
from gi_cuda.subject import Subject

RATES = Rates(0.3, 0.1, 0.5, 0.0, None)
FACTS = (
    *("target", "target_hash", "target_files", "grammar_hash", "grammar_files", "backend"),
    *("edits", "level", "plan", "baseline", "untested", "device", "versions"),
)
"""Names of the facts that a run's database holds before anything is bred."""

PHASES = Phases(1.0, 1.0, 5.0, 2.0, 0.5, 10.0)


def grow(store: Store, subject: Subject, count: int, population: int, rng: Random) -> None:
    """Add individuals to a run that has none, bred from the better half each time."""
    parents: list[tuple[int, Genotype]] = [(0, subject.original)]
    for number, first in enumerate(range(1, count + 1, population)):
        bred = []
        for ident in range(first, min(first + population, count + 1)):
            genotype, parent_idents = _child(parents, subject, rng)
            text = str(genotype)
            key = ident.to_bytes(16, "big")
            bred.append(
                (Individual(ident, number, text, key, None, "mutation", parent_idents), genotype)
            )
        everybody = [one for one, _ in bred]
        store.add_generation(number, Tally(len(bred), 0, 0), everybody, Tabued())
        for one in everybody:
            store.add_evaluation(one.ident, _evaluation(one.ident, rng))
        store.add_phases(number, PHASES, finished=True)
        evaluations = store.evaluations(number)
        good = [(one.ident, what) for one, what in bred if evaluations[one.ident].right]
        parents = good[: max(1, len(good) // 2)] or parents


def _child(
    parents: list[tuple[int, Genotype]], subject: Subject, rng: Random
) -> tuple[Genotype, tuple[int, ...]]:
    mother, father = rng.choice(parents), rng.choice(parents)
    made = crossover(mother[1], father[1], rng) if rng.random() < 0.5 else None
    if made is not None:
        return made, (mother[0], father[0])
    child = mutate(mother[1], subject.grammar, rng, RATES)
    return child or mother[1], tuple(one for one in [mother[0]] if one)


def _evaluation(ident: int, rng: Random) -> Evaluation:
    chance = rng.random()
    if chance < 0.1:
        line = rng.randrange(1, 400)
        return not_built(f'kernel.cu:{line}:9: error: "x{line}" </script> was not declared')
    if chance < 0.2:
        return lost(Survival.CRASHED, f"out of bounds in kernel k, block {ident % 99}")
    if chance < 0.4:
        where = rng.randrange(10**6)
        said = f"case one: output out[{where}] is {rng.random():.6g}, not {rng.random():.6g}"
        return Evaluation(True, Survival.NORMAL, 1.0, message=said)
    ratio = rng.uniform(0.5, 1.5)
    verdict = Verdict.FASTER if ratio < 0.9 else Verdict.SLOWER if ratio > 1.1 else Verdict.SAME
    samples = tuple(Sample("one", ratio * 1e-3, 1e-3) for _ in range(3))
    interval = (ratio * rng.uniform(0.9, 0.99), ratio * rng.uniform(1.01, 1.1))
    return Evaluation(True, Survival.NORMAL, 0.0, verdict, ratio, *interval, "", samples)


def copy_without_individuals(run: Path, folder: Path) -> Path:
    """Make a run with the target and baseline of another one, without individuals."""
    folder.mkdir()
    with Store(run / DATABASE) as old, Store(folder / DATABASE, create=True) as new:
        new.put(**{name: old.get(name) for name in FACTS if old.get(name) is not None})
    return folder
