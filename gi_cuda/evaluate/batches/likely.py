"""Which variants will probably be right: those of edits that were all in right ones before.

Edits break what they are put into, or they do not; two that break something only together are
rarer. How often a variant of such edits is right is counted, and where that is seldom the rule is
not believed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from gi_cuda.genome import Edit

LEAST: Final = 0.5
"""Share of them that were right below which the rule is not believed."""

MEMORY: Final = 512
"""Variants that it spoke of after which the earlier ones count half."""


@dataclass(slots=True)
class Likely:
    """What is known of edits, and how often that said what became of a variant.

    Attributes:
        proven: edits that were in right variants.
        right, wrong: how many variants of such edits alone were, with one of each to begin with.
    """

    proven: set[Edit] = field(default_factory=set)
    right: float = 1.0
    wrong: float = 1.0

    def enter(self, edits: Collection[Edit], *, right: bool) -> None:
        """What became of a variant."""
        if self._speaks_of(edits):
            self.right += right
            self.wrong += not right
            if self.right + self.wrong >= MEMORY:
                self.right, self.wrong = self.right / 2, self.wrong / 2
        if right:
            self.proven.update(edits)

    def is_right(self, edits: Collection[Edit]) -> bool:
        """Whether a variant will probably be right. Nothing is said of one without edits."""
        return self.right >= LEAST * (self.right + self.wrong) and self._speaks_of(edits)

    def _speaks_of(self, edits: Collection[Edit]) -> bool:
        return bool(edits) and self.proven.issuperset(edits)
