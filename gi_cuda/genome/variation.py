"""Mutation and crossover of genotypes (Langdon et al., GECCO 2015, sections 2.5 and 2.6).

The caller passes the random number generator, so one seed gives the same children on every
machine. The caller's tabu list decides whether a child was seen before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from gi_cuda.genome.edits import EDIT_KINDS, Delete, Edit, Insert, Replace, repeats
from gi_cuda.genome.genotype import Genotype
from gi_cuda.genome.space import Configuration
from gi_cuda.grammar import Rules, RuleType, Selection
from gi_cuda.spec.parameters import Value

ATTEMPTS = 32
"""Largest number of random draws before a function gives up and returns None."""

HOISTS = 1 / 3
"""Share of hoists among moves and swaps, if the grammar has rules for places before loops."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rates:
    """The probabilities of mutation.

    Attributes:
        configuration: a mutation changes the configuration, not the code.
        default: a changed parameter goes back to its default.
        neighbour: any other numeric parameter takes a neighbouring value, not a random one.
        hidden: a code mutation may also touch rules that the configuration does not compile.
        pairs: a code mutation is a move or a swap of two rules, which is two edits; None: the
            default of the front end (``pairs`` of :class:`~gi_cuda.grammar.FrontEnd`).
    """

    configuration: float
    default: float
    neighbour: float
    hidden: float
    pairs: float | None


def mutate(genotype: Genotype, grammar: Rules, rng: Random, rates: Rates) -> Genotype | None:
    """Return a child that differs by one value, one edit, or the two edits of a move or swap.

    The child keeps all constraints. If the configuration offers no change, the code changes, and
    vice versa. Return None if neither offers a change.
    """
    configuration_first = rng.random() < rates.configuration
    for of_configuration in (configuration_first, not configuration_first):
        if of_configuration:
            configuration = mutate_configuration(genotype.configuration, rng, rates)
            if configuration is not None:
                return Genotype(configuration, genotype.edits)
        else:
            edits = _draw_edits(genotype, grammar, rng, rates)
            if edits:
                return Genotype(genotype.configuration, (*genotype.edits, *edits))
    return None


def _draw_edits(genotype: Genotype, grammar: Rules, rng: Random, rates: Rates) -> tuple[Edit, ...]:
    if rates.pairs and rng.random() < rates.pairs and (pair := draw_pair(genotype, grammar, rng)):
        return pair
    edit = draw_edit(genotype, grammar, rng, rates.hidden)
    return () if edit is None else (edit,)


def draw_pair(genotype: Genotype, grammar: Rules, rng: Random) -> tuple[Edit, Edit] | None:
    """Draw a random move or swap, each with equal chance; None if no draw is valid.

    A move inserts a donor before a rule and deletes the donor in its own place. A swap puts each of
    two rules in the place of the other (Liou et al., "GEVO", TACO 2020).

    If the places before loops are rules, some moves are hoists: a hoist moves a statement out of a
    loop to the place before the loop.
    """
    view = grammar.under(genotype.configuration.macros)
    if not view.mutable:
        return None
    loops = [place for place in view.mutable if grammar.rule(place).type is RuleType.LOOP]
    for _ in range(ATTEMPTS):
        is_hoist = bool(loops) and rng.random() < HOISTS
        place = rng.choice(loops if is_hoist else view.mutable)
        donors = _of_loop(place, grammar, view) if is_hoist else view.donors(place)
        if not donors:
            continue
        donor, is_move = rng.choice(donors), is_hoist or rng.random() < 0.5
        move = Insert(place, donor), Delete(donor)
        swap = Replace(place, donor), Replace(donor, place)
        pair = move if is_move else swap
        if all(
            edit.is_offered(grammar, view) and not repeats(genotype.edits, edit) for edit in pair
        ):
            return pair
    return None


def _of_loop(place: str, grammar: Rules, view: Selection) -> list[str]:
    """Return the donors of the place before a loop that are statements of the loop."""
    start = grammar.rule(place).start
    end = next((loop.end for loop in grammar.loops if loop.start == start), start)
    donors = (donor for donor in view.donors(place) if donor in grammar)
    return [donor for donor in donors if start < grammar.rule(donor).start < end]


def mutate_configuration(
    configuration: Configuration, rng: Random, rates: Rates
) -> Configuration | None:
    """Return the configuration with one value changed and every constraint kept, or None.

    The rule is the paper's. The value goes back to its default with probability
    ``rates.default``, if it differs from it. Otherwise a binary parameter is flipped. A numeric
    parameter takes a neighbouring value with probability ``rates.neighbour``, else any other
    value. Values without an order are drawn at random.
    """
    space = configuration.space
    if not space.free:
        return None
    for _ in range(ATTEMPTS):
        at = rng.choice(space.free)
        chosen = list(configuration.chosen)
        chosen[at] = _other_value(configuration, at, rng, rates)
        child = Configuration(space, tuple(chosen))
        if space.allows(child):
            return child
    return None


def _other_value(configuration: Configuration, at: int, rng: Random, rates: Rates) -> Value:
    parameter, value = configuration.space.parameters[at], configuration.chosen[at]
    if rng.random() < rates.default and value != parameter.default:
        return parameter.default
    others = [other for other in parameter.values if other != value]
    neighbours = configuration.space.neighbours[at][value]
    if neighbours and rng.random() < rates.neighbour:
        return rng.choice(neighbours)
    return rng.choice(others)


def draw_edit(genotype: Genotype, grammar: Rules, rng: Random, hidden: float = 0.0) -> Edit | None:
    """Draw a random edit that has an effect when appended to the genotype's edits, or None.

    Draws a rule that the configuration compiles, then a kind of edit that the rule offers, then a
    donor in scope at the rule, each with equal chance. Donors with the same text as the rule that
    they would replace are not drawn, nor edits that repeat the edit that already decides the
    rule's text.

    Args:
        hidden: probability that any rule is drawn, even one that the configuration does not
            compile.
    """
    view = grammar.under(genotype.configuration.macros)
    offers: Selection = view
    places: Sequence[str] = view.mutable
    if hidden and rng.random() < hidden:
        offers, places = grammar, [rule.name for rule in grammar.rules]
    if not places:
        return None
    for _ in range(ATTEMPTS):
        edit = _edit_of(rng.choice(places), offers, grammar, rng)
        if edit is not None and not repeats(genotype.edits, edit):
            return edit
    return None


def _edit_of(place: str, offers: Selection, grammar: Rules, rng: Random) -> Edit | None:
    operations = offers.operations(place)
    kinds = [kind for kind in EDIT_KINDS if kind.operation in operations]
    while kinds:
        edit = kinds.pop(rng.randrange(len(kinds))).draw(place, grammar, offers, rng)
        if edit is not None:
            return edit
    return None


def crossover(mother: Genotype, father: Genotype, rng: Random) -> Genotype | None:
    """Return a child of both: uniform crossover of the values, two-point crossover of the edits.

    The child differs from both parents and keeps the constraints. Return None if ``ATTEMPTS`` draws
    gave no valid child.
    """
    for _ in range(ATTEMPTS):
        configuration = cross_values(mother.configuration, father.configuration, rng)
        child = Genotype(configuration, cross_edits(mother.edits, father.edits, rng))
        if configuration.space.allows(configuration) and child not in (mother, father):
            return child
    return None


def cross_values(mother: Configuration, father: Configuration, rng: Random) -> Configuration:
    """Take each value from either parent with equal chance (uniform crossover)."""
    return Configuration(
        mother.space,
        tuple(
            ours if rng.random() < 0.5 else theirs
            for ours, theirs in zip(mother.chosen, father.chosen, strict=True)
        ),
    )


def cross_edits(mother: Sequence[T], father: Sequence[T], rng: Random) -> tuple[T, ...]:
    """Replace a slice of the mother's list by a slice of the father's (two-point crossover).

    The two points are drawn separately for each parent, so a child may be longer or shorter.
    """
    start, end = _two_points(mother, rng)
    first, last = _two_points(father, rng)
    return (*mother[:start], *father[first:last], *mother[end:])


def _two_points(genes: Sequence[object], rng: Random) -> tuple[int, int]:
    one, other = rng.randint(0, len(genes)), rng.randint(0, len(genes))
    return min(one, other), max(one, other)
