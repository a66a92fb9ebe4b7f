"""The points of a configuration space, as searchers see them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from gi_cuda.genome.space import Space
from gi_cuda.spec.parameters import Value

Point: TypeAlias = tuple[int, ...]
"""A configuration: for each parameter, the index of its value among its possible values."""

Rule: TypeAlias = tuple[tuple[int, ...], Callable[[Point], bool]]
"""A constraint: the positions of the parameters that it reads, in order, and a predicate on the
indices of their values."""


@dataclass(frozen=True, eq=False)
class Grid:
    """A configuration space as points of a grid, some of which constraints leave out.

    Attributes:
        names: names of the parameters.
        values: possible values of each parameter; a point holds indices into them.
        rules: the constraints.
        listed: the allowed points, if they were recorded; None: `rules` decide.
    """

    names: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    rules: tuple[Rule, ...] = ()
    listed: frozenset[Point] | None = field(default=None, repr=False)

    @classmethod
    def of_space(cls, space: Space) -> Grid:
        """Make the grid of a target's configuration space."""
        names = tuple(one.name for one in space.parameters)
        values = tuple(one.values for one in space.parameters)
        rules = []
        for constraint in space.constraints:
            read = tuple(at for at, name in enumerate(names) if name in constraint.that.names)
            rules.append((read, _keeps(constraint.allows, names, values, read)))
        return cls(names, values, tuple(rules))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of possible values of each parameter."""
        return tuple(map(len, self.values))

    def configuration(self, point: Point) -> dict[str, Value]:
        """Return the parameter values of a point, by name."""
        return {
            name: values[at]
            for name, values, at in zip(self.names, self.values, point, strict=True)
        }

    def point(self, configuration: Mapping[str, Value]) -> Point:
        """Return the point of a configuration.

        Raises:
            KeyError: a parameter is missing.
            ValueError: a parameter has a value that is not among its possible values.
        """
        pairs = zip(self.names, self.values, strict=True)
        return tuple(values.index(configuration[name]) for name, values in pairs)

    def allows(self, point: Point) -> bool:
        """Tell whether a point keeps all constraints."""
        if self.listed is not None:
            return point in self.listed
        return all(keeps(tuple(point[at] for at in read)) for read, keeps in self.rules)

    @cached_property
    def size(self) -> int:
        """Number of allowed points.

        It is the product over groups of parameters that constraints connect. Only the points of
        groups with a constraint are enumerated.
        """
        if self.listed is not None:
            return len(self.listed)
        count = 1
        for group in self._groups():
            rules = [rule for rule in self.rules if set(rule[0]) <= set(group)]
            count *= (
                sum(1 for _ in self._kept(group, rules)) if rules else len(self.values[group[0]])
            )
        return count

    @cached_property
    def points(self) -> NDArray[np.int32]:
        """All allowed points, shape (:attr:`size`, parameters), in lexical order."""
        found = list(self.each())
        return np.array(found, np.int32).reshape(len(found), len(self.names))

    @property
    def first(self) -> Point | None:
        """First allowed point in lexical order; None if no point is allowed."""
        return next(self.each(), None)

    def each(self) -> Iterator[Point]:
        """Iterate over the allowed points, in lexical order."""
        if self.listed is not None:
            return iter(sorted(self.listed))
        return self._kept(tuple(range(len(self.names))), self.rules)

    def listing(self, limit: int) -> NDArray[np.int32] | None:
        """Return :attr:`points`, or None if more than ``limit`` points are allowed."""
        if "points" in self.__dict__ or self.listed is not None:
            count = len(self.points) if self.listed is None else len(self.listed)
            return self.points if count <= limit else None
        found = list(islice(self.each(), limit + 1))
        if len(found) > limit:
            return None
        return np.array(found, np.int32).reshape(len(found), len(self.names))

    def draw(self, rng: random.Random) -> Point | None:
        """Return a random allowed point, or None if no point is allowed.

        The points of a listed grid are equally likely. Otherwise values are drawn parameter by
        parameter, and drawn again if they break a constraint.
        """
        if self.listed is not None:
            return tuple(rng.choice(self.points).tolist()) if self.listed else None
        return next(self._kept(tuple(range(len(self.names))), self.rules, rng), None)

    def neighbours(self, point: Point, reach: int | None = None) -> list[Point]:
        """Return the allowed points that differ from a point in exactly one parameter.

        Args:
            point: the point.
            reach: largest difference between the two indices; None: any other value.
        """
        found = []
        for at, count in enumerate(self.shape):
            low, high = (0, count) if reach is None else (point[at] - reach, point[at] + reach + 1)
            for place in range(max(low, 0), min(high, count)):
                if place != point[at]:
                    found.append((*point[:at], place, *point[at + 1 :]))
        return [one for one in found if self.allows(one)]

    def _kept(
        self, group: Sequence[int], rules: Sequence[Rule], rng: random.Random | None = None
    ) -> Iterator[Point]:
        """Yield the value indices of some parameters that satisfy some constraints.

        A constraint is tested as soon as all parameters that it reads are chosen.

        Args:
            group: positions of the parameters.
            rules: constraints on these parameters only.
            rng: source of randomness for a random order; None: lexical order.
        """
        due: dict[int, list[tuple[tuple[int, ...], Callable[[Point], bool]]]] = {}
        for read, keeps in rules:
            places = tuple(group.index(at) for at in read)
            due.setdefault(max(places, default=0), []).append((places, keeps))

        def further(chosen: Point) -> Iterator[Point]:
            if len(chosen) == len(group):
                yield chosen
                return
            last = len(chosen)
            count = len(self.values[group[last]])
            for at in range(count) if rng is None else rng.sample(range(count), count):
                longer = (*chosen, at)
                if all(keeps(tuple(longer[k] for k in read)) for read, keeps in due.get(last, ())):
                    yield from further(longer)

        return further(())

    def _groups(self) -> list[tuple[int, ...]]:
        """Return the positions of parameters, grouped by shared constraints."""
        groups = [{at} for at in range(len(self.names))]
        for read, _ in self.rules:
            tied = [group for group in groups if group & set(read)]
            if tied:
                groups = [group for group in groups if group not in tied] + [set().union(*tied)]
        return [tuple(sorted(group)) for group in groups]


def _keeps(
    allows: Callable[[Mapping[str, Value]], bool],
    names: Sequence[str],
    values: Sequence[Sequence[Value]],
    read: Sequence[int],
) -> Callable[[Point], bool]:
    """Turn a constraint on values by name into a predicate on the indices of values.

    Args:
        allows: the constraint, on values by parameter name.
        names, values: of all parameters.
        read: positions of the parameters that the constraint reads.
    """

    def keeps(places: Point) -> bool:
        pairs = zip(read, places, strict=True)
        return allows({names[at]: values[at][place] for at, place in pairs})

    return keeps
