"""The genotype: configuration values and an ordered list of edits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from xxhash import xxh3_128_digest

from gi_cuda.genome.edits import Edit, Insert
from gi_cuda.genome.space import Configuration
from gi_cuda.grammar.rule import Rule


@dataclass(frozen=True, slots=True)
class Genotype:
    """One individual's genes; ``str`` gives them in notation, settings first.

    Attributes:
        configuration: a value for every parameter of the space.
        edits: in the order in which they were made.
    """

    configuration: Configuration
    edits: tuple[Edit, ...] = ()

    def __str__(self) -> str:
        return " ".join([*self.configuration.settings, *map(str, self.edits)])


def rule_order(rules: Iterable[Rule]) -> dict[str, int]:
    """Position of each rule in its grammar, for :func:`canonical` and :func:`key`."""
    return {rule.name: position for position, rule in enumerate(rules)}


def canonical(genotype: Genotype, order: Mapping[str, int]) -> Genotype:
    """The one genotype that stands for all with the same effect on every rule.

    Edits stand in the order of the rules they change; on one rule, the delete or replace that
    counts comes first (those it overrules are dropped), then the inserts as they were made.

    Args:
        order: position of each rule in the grammar; every rule the edits change must be in it.
    """
    if len(genotype.edits) < 2:
        return genotype
    bodies: dict[str, Edit] = {}
    inserts: dict[str, list[Edit]] = {}
    for edit in genotype.edits:
        if isinstance(edit, Insert):
            inserts.setdefault(edit.place, []).append(edit)
        else:
            bodies[edit.place] = edit
    edits: list[Edit] = []
    for place in sorted(bodies.keys() | inserts.keys(), key=order.__getitem__):
        if place in bodies:
            edits.append(bodies[place])
        edits.extend(inserts.get(place, ()))
    return Genotype(genotype.configuration, tuple(edits))


def key(genotype: Genotype, order: Mapping[str, int]) -> bytes:
    """The genotypic tabu key: 16 bytes, the xxh3 hash of the canonical genotype's text."""
    # Rules are named after files, whose names need not be UTF-8.
    return xxh3_128_digest(str(canonical(genotype, order)).encode("utf-8", "surrogateescape"))
