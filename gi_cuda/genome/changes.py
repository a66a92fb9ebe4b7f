"""A genotype as what it changes: settings and edits, each of which can be left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from gi_cuda.genome.edits import Edit
from gi_cuda.genome.genotype import Genotype, canonical
from gi_cuda.genome.space import spell
from gi_cuda.spec.target import Value


@dataclass(frozen=True, slots=True)
class Setting:
    """A parameter of the configuration that does not have its default; ``str`` is its notation."""

    name: str
    value: Value

    def __str__(self) -> str:
        return f"{self.name}={spell(self.value)}"


Change: TypeAlias = Setting | Edit


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
        changed = genotype.configuration.changed
        settings = (Setting(name, value) for name, value in changed.items())
        return cls(original, (*settings, *canonical(genotype, order).edits))

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
