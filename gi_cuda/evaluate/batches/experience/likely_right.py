"""Prediction of variants that will be right: all of their edits occurred in right variants before.

An edit usually breaks a variant by itself or not at all; pairs that break it only together are
rarer. The success rate of the prediction is counted. If it is low, the prediction is not used.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from gi_cuda.genome import Edit

LEAST: Final = 0.5
"""Success rate below which the prediction is not used."""

MEMORY: Final = 512
"""Number of predictions after which the counts are halved, so that older ones count less."""


@dataclass(slots=True)
class LikelyRight:
    """A predictor of right variants, with its success rate.

    Attributes:
        proven: edits that occurred in right variants.
        right, wrong: number of predictions that were right and wrong, starting with one each.
    """

    proven: set[Edit] = field(default_factory=set)
    right: float = 1.0
    wrong: float = 1.0

    def enter(self, edits: Collection[Edit], *, right: bool) -> None:
        """Record the result of a variant."""
        if self._speaks_of(edits):
            self.right += right
            self.wrong += not right
            if self.right + self.wrong >= MEMORY:
                self.right, self.wrong = self.right / 2, self.wrong / 2
        if right:
            self.proven.update(edits)

    def is_right(self, edits: Collection[Edit]) -> bool:
        """Tell whether a variant will probably be right; False for one without edits."""
        return self.right >= LEAST * (self.right + self.wrong) and self._speaks_of(edits)

    def _speaks_of(self, edits: Collection[Edit]) -> bool:
        return bool(edits) and self.proven.issuperset(edits)
