"""Deductions from the subsets of changes that are right and those that are wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

Positions: TypeAlias = frozenset[int]
"""A set of a winner's changes, as positions."""


def square(first: Positions, second: Positions, context: Positions) -> tuple[Positions, ...]:
    """Return the four subsets that test the interaction of two blocks in a context.

    They are the context with none, the first, the second, and both of the blocks.
    """
    return context, context | first, context | second, context | first | second


def subsets_of(dependent: Sequence[int], budget: int) -> Iterator[Positions]:
    """Yield at most `budget` non-empty subsets, those of nearly no or nearly all changes first."""
    count = len(dependent)
    sizes = sorted(range(1, count + 1), key=lambda size: (min(size, count - size), size))
    every = (frozenset(some) for size in sizes for some in combinations(dependent, size))
    for _, subset in zip(range(budget), every, strict=False):
        yield subset


@dataclass(frozen=True, slots=True)
class Subsets:
    """Subsets of the dependent changes that were read. The empty subset is right.

    Attributes:
        dependent: the dependent changes.
        right: subsets that were read and are right.
        read: all subsets that were read.
    """

    dependent: Positions
    right: Sequence[Positions]
    read: Sequence[Positions]

    def working(self, at: int) -> list[Positions]:
        """Return the right subsets that contain a change."""
        return [one for one in self.right if at in one]

    def links(self) -> Iterator[Positions]:
        """Yield sets of changes that belong together because some fail without others.

        Each set is a minimal wrong subset, together with its smallest right supersets.
        """
        right = set(self.right)
        wrong = [one for one in self.read if one not in right]
        for one in wrong:
            if any(other < one for other in wrong):
                continue
            mended = [other for other in self.right if one < other]
            least = min(map(len, mended), default=0)
            yield one.union(*(other for other in mended if len(other) == least))

    def blocks(self) -> list[Positions]:
        """Group the changes into blocks: changes that work only together form one block."""
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
        """Yield pairs of blocks with contexts in which none, either and both of them work.

        For each pair, the smallest and the largest of these contexts are given.
        """
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
    """Return the connected components of positions under links, ordered by smallest position."""
    parts = {at: frozenset({at}) for at in sorted(positions)}
    for link in links:
        part = link.union(*(parts[at] for at in link))
        parts.update(dict.fromkeys(part, part))
    return list(dict.fromkeys(parts.values()))
