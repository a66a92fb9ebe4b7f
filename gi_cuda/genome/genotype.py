"""The genotype: configuration values and an ordered list of edits; its canonical form and parts."""

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
    """One individual's genes; ``str`` writes them in notation, settings first.

    Attributes:
        configuration: a value for every parameter of the space.
        edits: the edits, in the order in which they were made.
    """

    configuration: Configuration
    edits: tuple[Edit, ...] = ()

    def __str__(self) -> str:
        return " ".join(map(str, (*self.configuration.settings, *self.edits)))


def rule_order(rules: Iterable[Rule]) -> dict[str, int]:
    """Return the position of each rule in its grammar, for :func:`canonical` and :func:`key`."""
    return {rule.name: position for position, rule in enumerate(rules)}


def canonical(genotype: Genotype, order: Mapping[str, int]) -> Genotype:
    """Return the canonical form of a genotype; genotypes with equal effect on all rules share it.

    The canonical form leaves out edits that later edits overrule. The remaining edits are sorted
    by the positions of their rules; on one rule, a delete or replace comes before inserts. Edits
    that depend on each other keep their order.

    Args:
        order: position of each rule in the grammar; contains the rule of every edit.
    """
    if len(genotype.edits) < 2:
        return genotype
    steps = [edit.steps for edit in genotype.edits]
    counting = _counting(steps)
    edits, steps = [genotype.edits[at] for at in counting], [steps[at] for at in counting]
    first = [some[0] for some in steps]
    left = sorted(range(len(first)), key=lambda at: (order[first[at].place], not first[at].removes))
    touched = [step.place for some in steps for step in some]
    if len(set(touched)) == len(touched):  # the common case: no edit depends on another edit
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
    """Return the positions of the edits that no later edits overrule.

    Args:
        edits: the steps of each edit.
    """
    decided: set[str] = set()
    found = []
    for at in range(len(edits) - 1, -1, -1):
        if any(not step.removes or step.place not in decided for step in edits[at]):
            found.append(at)
            decided.update(step.place for step in edits[at] if step.removes)
    return found[::-1]


def _earlier(edits: Sequence[Sequence[Step]]) -> list[set[int]]:
    """Return, for each edit, the positions of the earlier edits that it has to stay behind.

    These are the last earlier edits that do the same to the same rule: remove its text, or insert
    before it.

    Args:
        edits: the steps of each edit.
    """
    last: dict[tuple[str, bool], int] = {}
    found = []
    for at, steps in enumerate(edits):
        touched = [(step.place, step.removes) for step in steps]
        found.append({last[one] for one in touched if one in last})
        last.update(dict.fromkeys(touched, at))
    return found


def key(genotype: Genotype, order: Mapping[str, int]) -> bytes:
    """Return the genotypic tabu key: 16 bytes, the xxh3 hash of the canonical genotype's text."""
    # Rules are named after files, whose names need not be UTF-8.
    return xxh3_128_digest(str(canonical(genotype, order)).encode("utf-8", "surrogateescape"))


Change: TypeAlias = Setting | Edit


def changes_of(genotype: Genotype) -> tuple[Change, ...]:
    """Return each change of a genotype once: changed values, then edits in their order."""
    return tuple(dict.fromkeys((*genotype.configuration.settings, *genotype.edits)))


def with_changes(genotype: Genotype, changes: Iterable[Change]) -> Genotype | None:
    """Return the genotype with further changes, in this order; None if that breaks a constraint."""
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
    """A genotype as a list of changes, from which genotypes with some of the changes can be built.

    Attributes:
        original: the genotype without changes.
        changes: the settings in the space's order, then the edits in canonical order. Two changes
            may be equal (the same donor inserted twice), so positions identify changes.
    """

    original: Genotype
    changes: tuple[Change, ...]

    @classmethod
    def of(cls, genotype: Genotype, original: Genotype, order: Mapping[str, int]) -> Changed:
        """Cut a genotype into its changes.

        Args:
            genotype: the genotype to cut.
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
        """The genotype with all changes."""
        return self.having(self.all)

    def having(self, positions: Iterable[int]) -> Genotype:
        """Return the genotype with only the changes at some positions; constraints may break."""
        chosen = [self.changes[at] for at in sorted(set(positions))]
        settings = {one.name: one.value for one in chosen if isinstance(one, Setting)}
        edits = tuple(one for one in chosen if not isinstance(one, Setting))
        return Genotype(self.original.configuration.having(settings), edits)
