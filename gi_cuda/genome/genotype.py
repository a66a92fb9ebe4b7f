"""The genotype: configuration values and an ordered list of edits, and what it changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xxhash import xxh3_128_digest

from gi_cuda.genome.edits import Edit
from gi_cuda.genome.edits.edit import Step
from gi_cuda.genome.space import Configuration, Setting
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
        return " ".join(map(str, (*self.configuration.settings, *self.edits)))


def rule_order(rules: Iterable[Rule]) -> dict[str, int]:
    """Position of each rule in its grammar, for :func:`canonical` and :func:`key`."""
    return {rule.name: position for position, rule in enumerate(rules)}


def canonical(genotype: Genotype, order: Mapping[str, int]) -> Genotype:
    """The one genotype that stands for all that differ only in edits that others overrule, and in
    the order of edits where that does not matter.

    Edits stand in the order of the rules that they are made at; on one rule, what removes its text
    comes first. Edits that depend on each other stay as they were made.

    Args:
        order: position of each rule in the grammar; every rule that edits are made at is in it.
    """
    if len(genotype.edits) < 2:
        return genotype
    steps = [edit.steps for edit in genotype.edits]
    counting = _counting(steps)
    edits, steps = [genotype.edits[at] for at in counting], [steps[at] for at in counting]
    first = [some[0] for some in steps]
    left = sorted(range(len(first)), key=lambda at: (order[first[at].place], not first[at].removes))
    touched = [step.place for some in steps for step in some]
    if len(set(touched)) == len(touched):  # as with most: none depends on another one
        return Genotype(genotype.configuration, tuple([edits[at] for at in left]))
    earlier = _earlier(steps)
    result = []
    waiting = set(left)
    while left:
        at = next(at for at in left if earlier[at].isdisjoint(waiting))
        left.remove(at)
        waiting.remove(at)
        result.append(edits[at])
    return Genotype(genotype.configuration, tuple(result))


def _counting(edits: Sequence[Sequence[Step]]) -> list[int]:
    """Which edits, given by what they do, later ones do not overrule."""
    decided: set[str] = set()
    found = []
    for at in range(len(edits) - 1, -1, -1):
        if any(not step.removes or step.place not in decided for step in edits[at]):
            found.append(at)
            decided.update(step.place for step in edits[at] if step.removes)
    return found[::-1]


def _earlier(edits: Sequence[Sequence[Step]]) -> list[set[int]]:
    """For each edit, which ones before it do to some rule what it does: remove its text, or insert
    before it."""
    last: dict[tuple[str, bool], int] = {}
    found = []
    for at, steps in enumerate(edits):
        touched = [(step.place, step.removes) for step in steps]
        found.append({last[one] for one in touched if one in last})
        last.update(dict.fromkeys(touched, at))
    return found


def key(genotype: Genotype, order: Mapping[str, int]) -> bytes:
    """The genotypic tabu key: 16 bytes, the xxh3 hash of the canonical genotype's text."""
    # Rules are named after files, whose names need not be UTF-8.
    return xxh3_128_digest(str(canonical(genotype, order)).encode("utf-8", "surrogateescape"))


Change: TypeAlias = Setting | Edit


def changes_of(genotype: Genotype) -> tuple[Change, ...]:
    """All that a genotype changes, each once: values, then edits in the order they were made."""
    return tuple(dict.fromkeys((*genotype.configuration.settings, *genotype.edits)))


def with_changes(genotype: Genotype, changes: Iterable[Change]) -> Genotype | None:
    """The genotype with further changes, in this order; None where that breaks a constraint."""
    some = list(changes)
    settings = {one.name: one.value for one in some if isinstance(one, Setting)}
    configuration = genotype.configuration.having(settings)
    if not configuration.space.allows(configuration):
        return None
    had = set(genotype.edits)
    edits = tuple(one for one in some if not isinstance(one, Setting) and one not in had)
    return Genotype(configuration, (*genotype.edits, *edits))


@dataclass(frozen=True, slots=True)
class Changed:
    """A genotype cut into its changes, and put together again without some of them.

    Attributes:
        original: what nothing is changed in.
        changes: settings in the space's order, then the edits in canonical order. Two may be equal
            (the same donor inserted twice), so they are named by their positions.
    """

    original: Genotype
    changes: tuple[Change, ...]

    @classmethod
    def of(cls, genotype: Genotype, original: Genotype, order: Mapping[str, int]) -> Changed:
        """The changes of a genotype.

        Args:
            genotype: what is cut.
            original: the genotype without changes, of the same space.
            order: position of each rule in the grammar.
        """
        settings, edits = genotype.configuration.settings, canonical(genotype, order).edits
        return cls(original, (*settings, *edits))

    @property
    def all(self) -> frozenset[int]:
        """The positions of all changes."""
        return frozenset(range(len(self.changes)))

    @property
    def whole(self) -> Genotype:
        """The genotype with all of them."""
        return self.having(self.all)

    def having(self, positions: Iterable[int]) -> Genotype:
        """The genotype with only some of the changes; whether constraints hold is not looked at."""
        chosen = [self.changes[at] for at in sorted(set(positions))]
        settings = {one.name: one.value for one in chosen if isinstance(one, Setting)}
        edits = tuple(one for one in chosen if not isinstance(one, Setting))
        return Genotype(self.original.configuration.having(settings), edits)
