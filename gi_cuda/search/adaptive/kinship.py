"""Similarity of rules: an edit that breaks a program alone may be right together with an edit of a
similar rule, which reads or writes the same variables.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from gi_cuda.grammar import Rules

_WORD = re.compile(r"[A-Za-z_%$][\w.]*")


@dataclass
class Kinship:
    """A similarity of rules by common words: a Jaccard index with larger weights for rarer words.

    Attributes:
        rules: all rules.
    """

    rules: Rules
    _found: dict[tuple[str, str], float] = field(default_factory=dict)

    def closest(self, place: str, others: Iterable[str]) -> float:
        """Return the similarity, from 0 to 1, of a rule and the most similar one of some others."""
        return max((self._akin(*sorted((place, other))) for other in others), default=0.0)

    def _akin(self, one: str, other: str) -> float:
        key = one, other
        if key not in self._found:
            mine, theirs = self._words.get(one, frozenset()), self._words.get(other, frozenset())
            whole = self._weight(mine | theirs)
            self._found[key] = self._weight(mine & theirs) / whole if whole else 0.0
        return self._found[key]

    def _weight(self, words: Iterable[str]) -> float:
        # The order of a set differs between processes; `fsum` does not depend on the order.
        return math.fsum(1 / self._rarity[word] for word in words)

    @cached_property
    def _words(self) -> dict[str, frozenset[str]]:
        return {
            rule.name: frozenset(_WORD.findall(self.rules.text(rule.name)))
            for rule in self.rules.rules
        }

    @cached_property
    def _rarity(self) -> Counter[str]:
        """Number of rules that contain each word."""
        return Counter(word for words in self._words.values() for word in words)
