"""History of a run, from its records (Langdon et al., GECCO 2015, section 3)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gi_cuda.results.evaluation import Evaluation, Outcome
from gi_cuda.results.generation import Generation, Individual

_WORD = re.compile(r'(?:"[^"]*"|[^"\s])+')


@dataclass(frozen=True, slots=True)
class Epoch:
    """One generation.

    Attributes:
        number: number of the generation, from 0.
        size: number of individuals.
        evaluated: number of evaluated individuals.
        best: speed-up on the train cases of the best individual (the one whose interval has the
            highest lower end); None if no individual is faster.
        sure_so_far: highest lower end of a speed-up's interval in this and all earlier generations;
            it never falls.
        mean_changes: mean number of changes (settings and edits) of an individual.
        bred_changes: mean number of changes of individuals with parents; None if there are none.
        predicted_changes: prediction of `bred_changes` by Price's theorem (see :func:`price`).
        same_genotype, same_phenotype: shares of the children whose genotype or phenotype was tabu.
        not_built: share of the evaluated individuals that did not compile.
    """

    number: int
    size: int
    evaluated: int
    best: float | None
    sure_so_far: float | None
    mean_changes: float
    bred_changes: float | None
    predicted_changes: float | None
    same_genotype: float
    same_phenotype: float
    not_built: float


@dataclass(frozen=True, slots=True)
class Survivor:
    """One change of the winner.

    Attributes:
        change: the change in notation.
        found: generation that first had the change; None if no individual had it.
        founder: number of the first individual that had the change.
        frequency: share of the individuals with the change, by generation.
    """

    change: str
    found: int | None
    founder: int | None
    frequency: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Ancestor:
    """The winner, or an ancestor that passed on some of its changes.

    Attributes:
        ident, generation, origin, parents: see `Individual`.
        speed_up: speed-up on the train cases; None if the individual was not timed.
        changes: number of its changes.
        passed: number of the winner's changes that it passed on.
    """

    ident: int
    generation: int
    origin: str
    parents: tuple[int, ...]
    speed_up: float | None
    changes: int
    passed: int


@dataclass(frozen=True, slots=True)
class Point:
    """A timed individual.

    Attributes:
        changes: number of its changes.
        speed_up: speed-up on the train cases.
        faster: whether the individual is certainly faster.
    """

    changes: int
    speed_up: float
    faster: bool


@dataclass(frozen=True, slots=True)
class History:
    """A run's history.

    Attributes:
        epochs: the generations.
        points: all timed individuals.
        survivors: the winner's changes, in the order in which they were found; empty without a
            winner.
        family: the winner and the ancestors that passed on its changes, the youngest first. If both
            parents of an individual had a change, only one of them counts as its source.
        ancestors: number of all ancestors of the winner.
    """

    epochs: tuple[Epoch, ...]
    points: tuple[Point, ...]
    survivors: tuple[Survivor, ...]
    family: tuple[Ancestor, ...]
    ancestors: int


def tell(
    generations: Sequence[Generation],
    individuals: Sequence[Individual],
    evaluations: Mapping[int, Evaluation],
    winner: tuple[int, Sequence[str]] | None,
) -> History:
    """Compute a run's history from its records.

    Args:
        generations, individuals, evaluations: the stored records.
        winner: the winner's number and its changes in notation; None if there is no winner.
    """
    members: dict[int, list[Individual]] = {one.number: [] for one in generations}
    for one in individuals:
        members[one.generation].append(one)
    return History(
        tuple(_epochs(generations, members, evaluations)),
        tuple(_points(individuals, evaluations)),
        tuple(_survivors(members, winner[1])) if winner else (),
        tuple(_family(individuals, evaluations, *winner)) if winner else (),
        _ancestors(individuals, winner[0]) if winner else 0,
    )


def words(genotype: str) -> list[str]:
    """Split a genotype in notation into its changes, at white space outside of quotes."""
    return _WORD.findall(genotype) if '"' in genotype else genotype.split()


def _epochs(
    generations: Sequence[Generation],
    members: Mapping[int, Sequence[Individual]],
    evaluations: Mapping[int, Evaluation],
) -> Iterable[Epoch]:
    # Individuals are ranked by the lower end of the speed-up's interval, as in the search. The
    # speed-up that is shown is the median.
    so_far: float | None = None
    before: Sequence[Individual] = ()
    for generation in generations:
        here = members[generation.number]
        ratios = [
            (record.rank, record.ratio)
            for one in here
            if (record := evaluations.get(one.ident)) and record.selectable
            if record.rank and record.ratio
        ]
        best = min(ratios, default=None)
        so_far = min(filter(None, (so_far, best and best[0])), default=None)
        bred = [one for one in here if one.parents]
        tally, evaluated = generation.tally, sum(generation.outcomes.values())
        yield Epoch(
            generation.number,
            len(here),
            evaluated,
            None if best is None else 1 / best[1],
            None if so_far is None else 1 / so_far,
            _mean_size(here),
            _mean_size(bred) if bred else None,
            price(before, bred) if bred else None,
            _share(tally.genotype_duplicates, tally.created),
            _share(tally.phenotype_duplicates, tally.created),
            _share(generation.outcomes.get(Outcome.NOT_BUILT, 0), evaluated),
        )
        before = here


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def size(one: Individual) -> int:
    """Return the number of changes of an individual."""
    return len(words(one.genotype))


def _mean_size(some: Sequence[Individual]) -> float:
    return float(np.mean([size(one) for one in some])) if some else 0.0


def price(before: Sequence[Individual], bred: Sequence[Individual]) -> float | None:
    """Predict the mean size of the next generation by Price's covariance theorem (figure 6).

    The prediction is the mean size of this generation, plus the covariance of its members' sizes
    and numbers of children, divided by the mean number of children. This is the effect of selection
    alone. A child of two parents counts as half a child of each.

    Args:
        before: a generation.
        bred: individuals of the next generation that have parents.

    Returns:
        The mean number of changes; None if no member of `before` has children.
    """
    children = dict.fromkeys((one.ident for one in before), 0.0)
    for one in bred:
        for parent in one.parents:
            if parent in children:
                children[parent] += 1 / len(one.parents)
    offspring = np.array(list(children.values()))
    if not offspring.any():
        return None
    sizes = np.array([float(size(one)) for one in before])
    covariance = float(np.mean(offspring * sizes) - offspring.mean() * sizes.mean())
    return float(sizes.mean()) + covariance / float(offspring.mean())


def _points(
    individuals: Sequence[Individual], evaluations: Mapping[int, Evaluation]
) -> Iterable[Point]:
    for one in individuals:
        record = evaluations.get(one.ident)
        if record and record.ratio:
            yield Point(size(one), 1 / record.ratio, record.selectable)


def _survivors(
    members: Mapping[int, Sequence[Individual]], changes: Sequence[str]
) -> list[Survivor]:
    found: dict[str, tuple[int, int]] = {}
    counts: dict[str, list[float]] = {change: [] for change in changes}
    for number, here in sorted(members.items()):
        holders: Counter[str] = Counter()
        for one in here:
            for word in set(words(one.genotype)) & counts.keys():
                found.setdefault(word, (number, one.ident))
                holders[word] += 1
        for change in counts:
            counts[change].append(_share(holders[change], len(here)))
    survivors = []
    for change, frequency in counts.items():
        generation, founder = found.get(change, (None, None))
        survivors.append(Survivor(change, generation, founder, tuple(frequency)))
    last = len(members)
    return sorted(survivors, key=lambda one: last if one.found is None else one.found)


def _family(
    individuals: Sequence[Individual],
    evaluations: Mapping[int, Evaluation],
    winner: int,
    changes: Sequence[str],
) -> Iterator[Ancestor]:
    """Yield the winner and the ancestors that passed on its changes, the youngest first.

    This relies on a child's number being higher than those of its parents.
    """
    passed: dict[int, set[str]] = {winner: set(changes)}
    people = {one.ident: one for one in individuals}
    for one in sorted(individuals, key=lambda one: -one.ident):
        if one.ident not in passed:
            continue
        parents = [people[parent] for parent in dict.fromkeys(one.parents) if parent in people]
        has = {parent.ident: set(words(parent.genotype)) for parent in parents}
        for change in sorted(passed[one.ident]):
            bearers = [ident for ident, its in has.items() if change in its]
            if bearers:
                # Prefer a parent that is in the family already.
                bearer = next((ident for ident in bearers if ident in passed), bearers[0])
                passed.setdefault(bearer, set()).add(change)
        record = evaluations.get(one.ident)
        yield Ancestor(
            one.ident,
            one.generation,
            one.origin,
            tuple(dict.fromkeys(one.parents)),
            1 / record.ratio if record and record.ratio else None,
            size(one),
            len(passed[one.ident]),
        )


def _ancestors(individuals: Sequence[Individual], winner: int) -> int:
    parents = {one.ident: one.parents for one in individuals}
    waiting, seen = [winner], {winner}
    while waiting:
        new = {parent for parent in parents.get(waiting.pop(), ()) if parent not in seen}
        seen |= new
        waiting += new
    return len(seen & parents.keys()) - 1
