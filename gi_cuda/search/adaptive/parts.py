"""Recipes that fill the places of a generation: the sweep, unions, and neighbours of the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias

from gi_cuda.genome import Delete, Edit, Genotype, Replace, with_changes
from gi_cuda.genome.genotype import Change
from gi_cuda.genome.space import Configuration, Setting
from gi_cuda.grammar import Operation
from gi_cuda.search.adaptive.knowledge import Knowledge, place_of
from gi_cuda.search.adaptive.tried import Tried
from gi_cuda.search.recipes import Given, Keys, Origin, Recipe, Variation

UNRELATED = 0.1
"""Similarity that is added to that of each rule, so that unrelated rules get a turn too: after the
most similar one was tried three times."""


def without(genotype: Genotype, changes: Iterable[Change]) -> Genotype | None:
    """Return the genotype without some of its changes; None if that breaks a constraint."""
    gone = set(changes)
    names = {one.name for one in gone if isinstance(one, Setting)}
    space = genotype.configuration.space
    chosen = tuple(
        parameter.default if parameter.name in names else value
        for parameter, value in zip(space.parameters, genotype.configuration.chosen, strict=True)
    )
    configuration = Configuration(space, chosen)
    edits = tuple(one for one in genotype.edits if one not in gone)
    return Genotype(configuration, edits) if space.allows(configuration) else None


def neighbours(genotype: Genotype) -> Iterator[Genotype]:
    """Yield the genotype with one value replaced by a neighbouring one.

    For a parameter whose values have no order, all other values are neighbours.
    """
    configuration = genotype.configuration
    space = configuration.space
    for at in space.free:
        value = configuration.chosen[at]
        others = [one for one in space.parameters[at].values if one != value]
        for other in space.neighbours[at][value] or others:
            changed = configuration.having({space.parameters[at].name: other})
            if space.allows(changed):
                yield Genotype(changed, genotype.edits)


def singles(variation: Variation) -> list[Genotype]:
    """Return the original with each single change.

    The changes are each neighbouring value, each transformation and each deletion.
    """
    original = variation.original
    edits = [*transformations(variation, original), *deletions(variation, original)]
    alone = (Genotype(original.configuration, (*original.edits, one)) for one in edits)
    return [*neighbours(original), *alone]


def is_first(genotype: Genotype, variation: Variation) -> bool:
    """Tell whether the sweep tries a single change before deletions.

    Values and transformations come first, since they are few and gain more often.
    """
    grammar = variation.subject.grammar
    edits = genotype.edits[len(variation.original.edits) :]
    return all(grammar.rule(one.place).type.kind.transforms for one in edits)


def transformations(variation: Variation, genotype: Genotype) -> list[Edit]:
    """Return each transformation with each of its choices."""
    offered = variation.subject.offered
    view = offered.under(genotype.configuration.macros)
    places = [one for one in view.mutable if offered.rule(one).type.kind.transforms]
    if not variation.code:
        return []
    return [edit for one in places for edit in Replace.every(one, offered, view)]


def deletions(variation: Variation, genotype: Genotype) -> list[Delete]:
    """Return all deletions that are possible under a genotype's values."""
    view = variation.subject.offered.under(genotype.configuration.macros)
    places = [one for one in view.mutable if Operation.DELETE in view.operations(one)]
    return [Delete(place) for place in places] if variation.code else []


Choice: TypeAlias = Callable[[Knowledge, Tried, Sequence[Change], Random], Sequence[Change]]
"""A function that selects, from harmless changes at different places, those to add to an
individual."""


@dataclass(frozen=True, slots=True)
class Maker:
    """A factory of recipes for given genotypes.

    Attributes:
        base: individual that the genotypes are derived from.
        otherwise: recipe to use if a genotype was tried already.
    """

    base: Tried
    otherwise: Recipe

    def recipe(self, genotype: Genotype | None, origin: Origin) -> list[Recipe]:
        """Return a list with the recipe for a genotype; empty for None."""
        if genotype is None:
            return []
        return [Given(genotype, origin, self.base.parents, self.otherwise)]


Part: TypeAlias = Callable[[Knowledge, Maker, int, Random], Iterator[Recipe]]
"""A generator of recipes that are derived from an individual, for a number of places."""


def gaining(knowledge: Knowledge, maker: Maker, places: int, rng: Random) -> Iterator[Recipe]:
    """Yield recipes that add changes with gains in other individuals.

    First each change by itself, then the best ones together, then random subsets.
    """
    have = maker.base.changes
    gains = sorted(
        (one for one in knowledge.gains if one not in have),
        key=lambda one: (-knowledge.gains[one], str(one)),
    )
    sets: list[Sequence[Change]] = [[one] for one in gains]
    sets += [gains[:count] for count in range(len(gains), 1, -1)]
    if len(gains) > 2:
        sets += [rng.sample(gains, rng.randint(2, len(gains))) for _ in range(places)]
    return _unions(maker, sets)


@dataclass(frozen=True, slots=True)
class Together:
    """A union of many harmless changes, which finds changes that gain only together.

    It takes at most one change for each place, of all kinds or of one: often deletions gain
    together.

    Attributes:
        knowledge: harmless changes and their effects.
        base: individual that they are added to.
        chosen: selects the changes: :func:`fitting` or :func:`paying`.
        otherwise: recipe to use if no union is new.
    """

    knowledge: Knowledge
    base: Tried
    chosen: Choice
    otherwise: Recipe
    origin: Origin = field(default=Origin.UNION, init=False)

    @property
    def parents(self) -> tuple[int, ...]:
        return self.base.parents

    def make(self, variation: Variation, known: Keys, rng: Random) -> Genotype | None:
        pool = self.knowledge.harmless
        kinds = {type(one) for ones in pool.values() for one in ones}
        if kinds and rng.random() < 0.5:
            kind = rng.choice(sorted(kinds, key=lambda kind: kind.__name__))
            alike = {at: [one for one in ones if type(one) is kind] for at, ones in pool.items()}
            pool = {at: ones for at, ones in alike.items() if ones}
        taken = {place_of(one) for one in self.base.changes}
        some = [rng.choice(ones) for place, ones in pool.items() if place not in taken]
        changes = self.chosen(self.knowledge, self.base, some, rng) if some else ()
        return with_changes(self.base.genotype, changes) if changes else None

    def fallback(self) -> Recipe:
        return self.otherwise


def fitting(
    knowledge: Knowledge, base: Tried, some: Sequence[Change], rng: Random
) -> Sequence[Change]:
    """Select a random union of changes that are likely to be right together.

    A bandit chooses its size; a success is worth the number of pairs that the union tries.
    """
    most = min(len(some), knowledge.most)
    sizes = [2**power for power in range(1, most.bit_length())]
    if not sizes:
        return ()
    worth = knowledge.sizes.sampled(sizes, rng) * [one * (one - 1) / 2 for one in sizes]
    size = sizes[int(worth.argmax())]
    fit = knowledge.beside(base).fitting(some, size, rng)
    return rng.sample(fit, min(size, len(fit)))


def paying(
    knowledge: Knowledge, base: Tried, some: Sequence[Change], rng: Random
) -> Sequence[Change]:
    """Select the changes that seem to gain most together."""
    return knowledge.beside(base).paying(some, rng)


def _unions(maker: Maker, sets: Iterable[Iterable[Change]]) -> Iterator[Recipe]:
    for one in sets:
        yield from maker.recipe(with_changes(maker.base.genotype, one), Origin.UNION)


def exchanged(best: Tried, others: Iterable[Tried], otherwise: Recipe) -> Iterator[Recipe]:
    """Yield recipes with the edits of the best individual and the values of others.

    Configurations can then be compared without the gains of the edits.
    """
    for other in others:
        genotype = Genotype(other.genotype.configuration, best.genotype.edits)
        parents = (*other.parents, *best.parents)
        yield Given(genotype, Origin.CROSSOVER, parents, otherwise)


def near(knowledge: Knowledge, maker: Maker, places: int, rng: Random) -> Iterator[Recipe]:
    """Yield recipes for the neighbourhood of an individual.

    These are: its values alone; the individual without each change, and without several at once;
    with each neighbouring value; and with each other choice of a transformation.
    """
    base = maker.base
    own = sorted(base.changes - knowledge.origin.changes, key=str)
    edits = [one for one in own if not isinstance(one, Setting)]
    sets: list[Sequence[Change]] = [edits] if 1 < len(edits) < len(own) else []
    sets += [[one] for one in own]
    if len(own) > 3:
        sets += [rng.sample(own, rng.randint(2, len(own) - 1)) for _ in range(places // 4)]
    return _near(maker, sets, knowledge.variation)


def deleting(knowledge: Knowledge, maker: Maker, places: int, rng: Random) -> Iterator[Recipe]:
    """Yield recipes that add one deletion that is not known to be harmless.

    A deletion that breaks a program alone may be right together with another one. For example, of
    two conditions that guard a store and its load, one can go only with the other. Deletions at
    rules that are similar to changed ones come first, and those that were tried least.
    """
    base = maker.base
    if base is knowledge.origin:  # the sweep does this
        return
    taken = {place_of(one) for one in base.changes}
    left = [
        one
        for one in deletions(knowledge.variation, base.genotype)
        if one.place not in taken and not knowledge.is_harmless(one)
    ]
    rng.shuffle(left)
    akin = {one: knowledge.kinship.closest(one.place, taken) for one in left}
    for one in sorted(
        left, key=lambda one: -(UNRELATED + akin[one]) / (1 + knowledge.asked[one]) ** 2
    ):
        yield from maker.recipe(with_changes(base.genotype, [one]), Origin.MUTATION)


def _near(maker: Maker, sets: Iterable[Sequence[Change]], variation: Variation) -> Iterator[Recipe]:
    for one in sets:
        yield from maker.recipe(without(maker.base.genotype, one), Origin.REMOVAL)
    for neighbour in neighbours(maker.base.genotype):
        yield from maker.recipe(neighbour, Origin.MUTATION)
    for other in chosen_otherwise(maker.base.genotype, variation):
        yield from maker.recipe(other, Origin.MUTATION)


def chosen_otherwise(genotype: Genotype, variation: Variation) -> Iterator[Genotype]:
    """Yield the genotype with another choice for one of its transformations."""
    for edit in transformations(variation, genotype):
        edits = tuple(edit if one.place == edit.place else one for one in genotype.edits)
        if edits != genotype.edits:
            yield Genotype(genotype.configuration, edits)
