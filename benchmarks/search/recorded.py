"""Tables of measurements of real runs: ``python -m benchmarks.search.recorded RUN``.

A run's folder is a table. With ``--output FOLDER`` a small copy of it is made, with only what
searches need. Without, the run's search is repeated with the recorded results, in seconds and
without a device: the same seed and the same fitness must give the same individuals.

``python -m benchmarks.search --table FOLDER`` compares other searches on the recorded results.
Measured variants are looked up. The effect of other variants is composed of the effects of their
parts: the largest sets of edits that were measured, then single edits. An edit that was never
measured takes the effect of a measured one, at the same rule if there is one. The table therefore
shows how searches fare in a space like the real one, not what they would find in it.
"""

from __future__ import annotations

import argparse
import math
import random
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from xxhash import xxh3_64_intdigest

from benchmarks.search.landscapes import Effect, effects_of
from gi_cuda.genome import Genotype
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.generation import Individual, Phases
from gi_cuda.results.verdict import Verdict
from gi_cuda.runs.stored import (
    DATABASE,
    open_store,
    stored_grammar_files,
    stored_plan,
    stored_start,
    stored_subject,
    where_it_lies,
)
from gi_cuda.search import find_preset
from gi_cuda.search.loop import Evolution
from gi_cuda.store import Store
from gi_cuda.subject import Subject

Effects: TypeAlias = frozenset[Effect]

NEVER = math.inf
"""Time of arrival of a genotype that was not evaluated."""


# -- repeating the recorded search -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Known:
    """A genotype that the recorded run made.

    Attributes:
        key: key of its phenotype.
        ident: its number in the run; None if it was dropped as a duplicate.
    """

    key: bytes | None
    ident: int | None


class Replay:
    """An evaluator that returns a run's results, in the order in which they arrived.

    Args:
        recorded: the run's database.
        subject: the run's subject.
    """

    def __init__(self, recorded: Store, subject: Subject) -> None:
        self._subject = subject
        self._evaluations = recorded.evaluations()
        individuals, tabu = recorded.individuals(), recorded.tabu()
        self._known = {one.genotype_key: Known(one.phenotype_key, one.ident) for one in individuals}
        # Dropped duplicates get any phenotype that has no individual: only the reference's is left.
        others = tabu.phenotypes - {one.phenotype_key for one in individuals}
        duplicate = Known(min(others, default=None), None)
        self._known |= dict.fromkeys(tabu.genotypes - self._known.keys(), duplicate)
        cohorts = sum(one.cohorts for one in recorded.generations())
        self._came = {
            one.ident: number for number in range(cohorts + 1) for one, _ in recorded.came(number)
        }
        self._left = len(self._evaluations)

    @property
    def over(self) -> bool:
        """Tell whether all recorded results have been returned."""
        return not self._left

    def prepare(self, batch: Mapping[int, Genotype]) -> dict[int, Known]:
        """Look up genotypes in the run.

        Raises:
            LookupError: the recorded run did not make one of them.
        """
        found = {}
        for ident, genotype in batch.items():
            key = self._subject.key(genotype)
            if key not in self._known:
                raise LookupError(f"the recorded run made no {genotype}")
            found[ident] = self._known[key]
        return found

    def evaluate(
        self,
        batch: Mapping[int, Known],
        stop: Callable[[], bool],
        more: Callable[[], Mapping[int, Known]],
    ) -> Generator[tuple[int, Evaluation], None, None]:
        """Yield recorded evaluations in their order of arrival."""
        left = dict(batch)
        while left and not stop():
            ident = min(left, key=lambda one: (self._came.get(left[one].ident or 0, NEVER), one))
            known = left.pop(ident)
            assert known.ident is not None, "duplicates are dropped"
            self._left -= 1
            yield ident, self._evaluations[known.ident]
            if left:
                left |= more()


def replayed(folder: Path) -> tuple[list[Individual], list[Individual]]:
    """Return the individuals of a run, and those of its search on the recorded results."""
    with open_store(folder) as recorded, Store(Path(":memory:"), create=True) as store:
        subject, plan = stored_subject(recorded, folder), stored_plan(recorded)
        start = stored_start(recorded)
        preset = find_preset(plan.preset, str(folder))
        replay = Replay(recorded, subject)
        original = None if start is None else subject.starting(start)
        search = Evolution(
            store=store,
            evaluator=replay,
            phases=Phases,
            strategy=preset.strategy(plan.settings),
            variation=preset.vary(subject, original),
            settings=plan.settings,
            seed=plan.seed,
            stop=lambda: replay.over,
        )
        for _ in search.run():
            pass
        return recorded.individuals(), store.individuals()


# -- other searches --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recorded:
    """Times of variants, according to the measurements of a run.

    Attributes:
        subject: gives the space.
        seed: decides what is drawn for variants that were not measured.
        measured: the ratio of each set of effects; None if it was wrong.
    """

    subject: Subject
    seed: int
    measured: Mapping[Effects, float | None]

    def ratio(self, effects: Effects) -> float | None:
        """Return the ratio of a variant's time to the reference's; None if it is wrong."""
        rest, ratio = set(effects), 1.0
        for part in sorted(self._parts(effects), key=lambda one: (-len(one), sorted(one))):
            if part <= rest:
                found = self.measured[part]
                if found is None:
                    return None
                rest -= part
                ratio *= found
        for effect in sorted(rest):
            found = self._drawn(effect)
            if found is None:
                return None
            ratio *= found
        return ratio

    def share(self, ratio: float) -> float:
        """Return the share of the best measured gain that a ratio is, in logarithms."""
        return max(0.0, math.log(ratio) / self._most)

    def _parts(self, effects: Effects) -> set[Effects]:
        """Return the measured sets that are subsets of `effects`."""
        having = self._having
        found = {one for effect in effects for one in having.get(effect, ())}
        return {one for one in found if one <= effects}

    @cached_property
    def _having(self) -> Mapping[Effect, list[Effects]]:
        having: dict[Effect, list[Effects]] = defaultdict(list)
        for one in self.measured:
            for effect in one:
                having[effect].append(one)
        return having

    @cached_property
    def _alone(self) -> Mapping[str, list[float | None]]:
        """Return the ratios of single effects by place; the key "" has all of them."""
        alone: dict[str, list[float | None]] = defaultdict(list)
        for one in sorted(self.measured, key=sorted):
            if len(one) == 1:
                (effect,) = one
                alone[effect.place].append(self.measured[one])
                alone[""].append(self.measured[one])
        return alone

    def _drawn(self, effect: Effect) -> float | None:
        words = "\0".join((str(self.seed), *effect)).encode("utf-8", "surrogateescape")
        rng = random.Random(xxh3_64_intdigest(words))
        alone = self._alone.get(effect.place) or self._alone.get("") or [None]
        return rng.choice(alone)

    @cached_property
    def _most(self) -> float:
        right = [one for one in self.measured.values() if one is not None]
        return math.log(min([*right, 0.999]))


def recorded(folder: Path, seed: int) -> Recorded:
    """Return the table of a run's folder."""
    with open_store(folder) as store:
        subject, evaluations = stored_subject(store, folder), store.evaluations()
        measured = {
            effects_of(subject, subject.read(one.genotype)): _true(evaluations[one.ident])
            for one in store.individuals()
            if one.ident in evaluations
        }
    return Recorded(subject, seed, {effects: one for effects, one in measured.items() if effects})


def _true(evaluation: Evaluation) -> float | None:
    """Return an individual's assumed true ratio: 1 if no difference is certain, None if it is
    wrong.
    """
    if not evaluation.right or evaluation.ratio is None:
        return None
    if evaluation.verdict in (Verdict.FASTER, Verdict.SLOWER):
        return evaluation.ratio
    return 1.0


# -- command line ----------------------------------------------------------------------------------


def copy(folder: Path, output: Path) -> None:
    """Copy a run's database without data that searches do not need: samples and messages."""
    output.mkdir(parents=True)
    with closing(sqlite3.connect(folder / DATABASE)) as db:
        db.execute("VACUUM INTO ?", (str(output / DATABASE),))
    with closing(sqlite3.connect(output / DATABASE)) as db:
        db.execute("UPDATE evaluation SET samples = '[]', message = ''")
        db.commit()
        db.execute("VACUUM")
    with open_store(folder) as store, open_store(output) as small:
        subject = stored_subject(store, folder)
        files = stored_grammar_files(store, folder)
        small.put(**where_it_lies(subject.target.folder, files, output))


def main() -> None:
    """Copy a run's table, or repeat its search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--output", type=Path, help="a new folder for the table")
    options = parser.parse_args()
    if options.output:
        copy(options.run, options.output)
        return
    before, again = replayed(options.run)
    if before != again:
        pairs = enumerate(zip(before, again, strict=False))
        at = next((at for at, (one, other) in pairs if one != other), min(len(before), len(again)))
        raise SystemExit(f"another search: {at} of {len(before)} individuals are the same")
    print(f"the same search: {len(before)} individuals")


if __name__ == "__main__":
    main()
