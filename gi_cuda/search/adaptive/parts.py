"""How the places of a generation are filled: the sweep, unions, what is near the best."""

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
"""How akin what has nothing to do with each other is taken to be: once what is most akin was asked
for three times, the others have their turn."""


def without(genotype: Genotype, changes: Iterable[Change]) -> Genotype | None:
    """The genotype without some of its changes; None where that breaks a constraint."""
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
    """The genotype with one value next to its own; with any other one, where values have no
    order."""
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
    """The original with each value next to one of its own, with each transformation, and with each
    deletion, one at a time."""
    original = variation.original
    edits = [*transformations(variation, original), *deletions(variation, original)]
    alone = (Genotype(original.configuration, (*original.edits, one)) for one in edits)
    return [*neighbours(original), *alone]


def is_first(genotype: Genotype, variation: Variation) -> bool:
    """Tell whether a sweep tries a single change before deletions: values and transformations are
    few, and gain more often."""
    grammar = variation.subject.grammar
    edits = genotype.edits[len(variation.original.edits) :]
    return all(grammar.rule(one.place).type.kind.transforms for one in edits)


def transformations(variation: Variation, genotype: Genotype) -> list[Edit]:
    """Each transformation with each of its choices."""
    offered = variation.subject.offered
    view = offered.under(genotype.configuration.macros)
    places = [one for one in view.mutable if offered.rule(one).type.kind.transforms]
    if not variation.code:
        return []
    return [edit for one in places for edit in Replace.every(one, offered, view)]


def deletions(variation: Variation, genotype: Genotype) -> list[Delete]:
    """All that may be deleted where a genotype's values are."""
    view = variation.subject.offered.under(genotype.configuration.macros)
    places = [one for one in view.mutable if Operation.DELETE in view.operations(one)]
    return [Delete(place) for place in places] if variation.code else []


Choice: TypeAlias = Callable[[Knowledge, Tried, Sequence[Change], Random], Sequence[Change]]
"""Takes harmless changes to be added to something, of some that are offered, one a place."""


@dataclass(frozen=True, slots=True)
class Maker:
    """Makes recipes for genotypes that are given.

    Attributes:
        base: what they are made of.
        otherwise: what fills the place of one that was tried already.
    """

    base: Tried
    otherwise: Recipe

    def recipe(self, genotype: Genotype | None, origin: Origin) -> list[Recipe]:
        """A recipe for a genotype; none for None."""
        if genotype is None:
            return []
        return [Given(genotype, origin, self.base.parents, self.otherwise)]


Part: TypeAlias = Callable[[Knowledge, Maker, int, Random], Iterator[Recipe]]
"""Makes recipes of an individual, for so many places; what is not asked for is not made."""


def gaining(knowledge: Knowledge, maker: Maker, places: int, rng: Random) -> Iterator[Recipe]:
    """What gained in one individual, put into another: each by itself, then more and more of the
    best together, then some at random. What is not asked for is not made."""
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
    """Many harmless changes at once: what gains only together is found so.

    One a place; of all kinds, or of one: deletions above all gain together.

    Attributes:
        knowledge: says what is harmless, and what that does beside others.
        base: what they are added to.
        chosen: which of those that are offered: :func:`fitting` or :func:`paying`.
        otherwise: what takes its place if none comes out new.
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
    """As many as go together, by chance. How many is a bandit's choice: a success is worth the
    pairs that it has tried."""
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
    """Those that seem to gain most together."""
    return knowledge.beside(base).paying(some, rng)


def _unions(maker: Maker, sets: Iterable[Iterable[Change]]) -> Iterator[Recipe]:
    for one in sets:
        yield from maker.recipe(with_changes(maker.base.genotype, one), Origin.UNION)


def exchanged(best: Tried, others: Iterable[Tried], otherwise: Recipe) -> Iterator[Recipe]:
    """What has the edits of the best one and the values of another: so what edits gain tells
    configurations apart no more, and what is left is theirs."""
    for other in others:
        genotype = Genotype(other.genotype.configuration, best.genotype.edits)
        parents = (*other.parents, *best.parents)
        yield Given(genotype, Origin.CROSSOVER, parents, otherwise)


def near(knowledge: Knowledge, maker: Maker, places: int, rng: Random) -> Iterator[Recipe]:
    """What is next to an individual: its values alone; without each change, and without many of
    them at once; with each value next to its own, and each other choice of a transformation. What
    is not asked for is not made."""
    base = maker.base
    own = sorted(base.changes - knowledge.origin.changes, key=str)
    edits = [one for one in own if not isinstance(one, Setting)]
    sets: list[Sequence[Change]] = [edits] if 1 < len(edits) < len(own) else []
    sets += [[one] for one in own]
    if len(own) > 3:
        sets += [rng.sample(own, rng.randint(2, len(own) - 1)) for _ in range(places // 4)]
    return _near(maker, sets, knowledge.variation)


def deleting(knowledge: Knowledge, maker: Maker, places: int, rng: Random) -> Iterator[Recipe]:
    """An individual with one deletion more, of those that are not known to be harmless: what breaks
    alone may be right beside another one. Of two conditions that guard a store and its load the one
    can only go with the other. So those come first that are akin to what was changed, and those
    that were asked for least."""
    base = maker.base
    if base is knowledge.origin:  # that is the sweep
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
    """The genotype with another choice for one of its transformations."""
    for edit in transformations(variation, genotype):
        edits = tuple(edit if one.place == edit.place else one for one in genotype.edits)
        if edits != genotype.edits:
            yield Genotype(genotype.configuration, edits)
