"""Sets of changes: which of them are right, and what follows from that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

Positions: TypeAlias = frozenset[int]
"""Some of a winner's changes, by their numbers."""


def square(first: Positions, second: Positions, context: Positions) -> tuple[Positions, ...]:
    """The four subsets whose speed-ups tell how two blocks go together beside some others."""
    return context, context | first, context | second, context | first | second


def subsets_of(dependent: Sequence[int], budget: int) -> Iterator[Positions]:
    """Subsets but the empty one, those next to none and next to all first, as many as allowed."""
    count = len(dependent)
    sizes = sorted(range(1, count + 1), key=lambda size: (min(size, count - size), size))
    every = (frozenset(some) for size in sizes for some in combinations(dependent, size))
    for _, subset in zip(range(budget), every, strict=False):
        yield subset


@dataclass(frozen=True, slots=True)
class Subsets:
    """Which subsets of the dependent changes are right. The empty one is.

    Attributes:
        dependent: the changes.
        right: the right ones among those that were read.
        read: those that were read.
    """

    dependent: Positions
    right: Sequence[Positions]
    read: Sequence[Positions]

    def working(self, at: int) -> list[Positions]:
        """The right subsets that hold a change."""
        return [one for one in self.right if at in one]

    def links(self) -> Iterator[Positions]:
        """Sets of changes that belong together since without some of them the others fail: each
        smallest wrong subset with what mends it."""
        right = set(self.right)
        wrong = [one for one in self.read if one not in right]
        for one in wrong:
            if any(other < one for other in wrong):
                continue
            mended = [other for other in self.right if one < other]
            least = min(map(len, mended), default=0)
            yield one.union(*(other for other in mended if len(other) == least))

    def blocks(self) -> list[Positions]:
        """The changes, those as one block that work only together."""
        needs = {
            at: frozenset.intersection(*self.working(at)) if self.working(at) else frozenset({at})
            for at in self.dependent
        }
        mutual = (
            frozenset({a, b})
            for a, b in combinations(sorted(self.dependent), 2)
            if b in needs[a] and a in needs[b]
        )
        return joined(self.dependent, mutual)

    def tests(self) -> Iterator[tuple[Positions, Positions, Positions]]:
        """Pairs of blocks with contexts in which all of both, either and none work: the leanest
        such context, and the fullest where that is another one."""
        known = {frozenset[int](), *self.right}
        for first, second in combinations(self.blocks(), 2):
            contexts = [
                context
                for context in known
                if not context & (first | second)
                and all(one in known for one in square(first, second, context))
            ]
            if contexts:
                by_size = sorted(contexts, key=lambda context: (len(context), sorted(context)))
                for context in dict.fromkeys([by_size[0], by_size[-1]]):
                    yield first, second, context


def joined(positions: Positions, links: Iterable[Positions]) -> list[Positions]:
    """The connected parts of positions of which some are linked, in order of their least."""
    parts = {at: frozenset({at}) for at in sorted(positions)}
    for link in links:
        part = link.union(*(parts[at] for at in link))
        parts.update(dict.fromkeys(part, part))
    return list(dict.fromkeys(parts.values()))
