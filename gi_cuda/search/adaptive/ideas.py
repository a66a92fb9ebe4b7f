"""First individuals from external ideas: each patch as a whole and in parts."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gi_cuda.genome import Genotype
from gi_cuda.genome.edits import Replace
from gi_cuda.search.recipes import Variation
from gi_cuda.subject import Idea, Subject
from gi_cuda.subject.idea import donor


def idea_genotypes(variation: Variation) -> list[Genotype]:
    """Return genotypes with each idea, with parts of it, and with its values only.

    The parts are all hunks but one group of hunks that need each other, and each group alone.
    """
    subject, original = variation.subject, variation.original
    found = [
        taking(subject, original, number, some if variation.code else ())
        for number, idea in enumerate(subject.ideas, 1)
        for some in _parts(idea, subject)
    ]
    return [one for one in dict.fromkeys(found) if one != original]


def taking(
    subject: Subject, base: Genotype, number: int, hunks: Collection[int] | None = None
) -> Genotype:
    """Return a genotype with the values of an idea and some of its hunks.

    Args:
        base: genotype that is extended.
        number: number of the idea, from 1.
        hunks: positions of the hunks; None for all. Hunks in host code are left out.
    """
    idea = subject.ideas[number - 1]
    places = {choice: rule.name for rule in subject.grammar.rules for choice in rule.choices}
    wanted = range(len(idea.hunks)) if hunks is None else sorted(hunks)
    names = (donor(number, at + 1) for at in wanted)
    edits = [Replace(places[name], name) for name in names if name in places]
    values = subject.read(idea.values).configuration if idea.values else base.configuration
    return Genotype(values, (*base.edits, *edits))


def _parts(idea: Idea, subject: Subject) -> Iterator[Collection[int]]:
    groups = idea.groups(subject.grammar.source)
    every = frozenset(range(len(idea.hunks)))
    yield every
    for group in groups:
        yield every - set(group)
    yield from groups
    yield ()
