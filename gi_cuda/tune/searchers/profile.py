"""Search by hardware counters: what relieves the bottleneck of the best configuration is tried.

Filipovic et al. 2022, "Using hardware performance counters to speed up autotuning convergence on
GPUs". The counters of the best configuration say which units of the GPU are busy. A model that was
trained before, for another GPU or other inputs, says how much work of these units each other
configuration has. Those with less of it are likely to be drawn next.

Where this differs from KTT's searcher: busy issue slots ask for fewer instructions of any kind;
the first points are drawn by the mean of all predictions in place of uniformly; and a search goes
on where no counters are measured (see :meth:`Profile._limits`).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gi_cuda.errors import UserError
from gi_cuda.tune.counter_model import CounterModel, read_model
from gi_cuda.tune.counters import UNITS, Counters, pressures, use_of
from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.searcher import Searcher, SearcherKind
from gi_cuda.tune.trees import Array
from gi_cuda.tune.walk import FAILED, Unrepeated

PREFIX = "profile:"
"""A searcher of this beginning has the model whose file the rest names."""

POWER = 8
"""Power of the score with which points are drawn; KTT's number."""

CUTOFF = -0.25
"""Score below which points are hardly ever drawn; KTT's number."""

LEAST = 1e-4
"""Weight of these points, where the best one's is 256; KTT's number."""

ENOUGH = 6
"""Costs that tell which units are busy, where no use of a unit was measured."""

DRAWN = 5000
"""Random points that are scored in a grid that is not listed, beside neighbours of the best."""


class Profile(Unrepeated):
    """A searcher that draws points with less work for the busy units of the best one.

    Raises:
        UserError: the model does not know the grid's parameters.
    """

    def __init__(self, grid: Grid, rng: random.Random, model: CounterModel) -> None:
        model.check(grid)
        super().__init__(grid, rng)
        self._model = model
        self._counters: dict[Point, Counters] = {}
        self._best: Point | None = None
        self._points = np.empty((0, len(grid.names)), np.int32)
        self._weights: Array | None = None

    def profiled(self, point: Point, counters: Counters) -> None:
        """Take the counters of a point, before its cost; they need not be complete."""
        self._counters[point] = counters

    def tell(self, point: Point, cost: float | None) -> None:
        """Take what a point costs."""
        super().tell(point, cost)
        self._weights = None
        if self.costs[point] < (self.costs[self._best] if self._best else FAILED):
            self._best = point

    def wanted(self, first: bool) -> Point | None:
        """Return a point that was not asked yet, drawn by its score."""
        if self._weights is None:
            self._points = self._some() if self.listing is None else self.listing
            self._weights = self._scored() if len(self._points) else np.zeros(1)
        sums = self._weights.cumsum()
        if not sums[-1]:
            return None
        at = int(np.searchsorted(sums[:-1], self.rng.random() * sums[-1], side="right"))
        return tuple(self._points[at].tolist())

    def noted(self, point: Point) -> None:
        """Draw a point that is being asked no more."""
        if self._weights is not None:
            self._weights[: len(self._points)][(self._points == point).all(1)] = 0.0

    def _some(self) -> NDArray[np.int32]:
        """Return points of a grid that is not listed: neighbours of the best, and random ones."""
        near = self.grid.neighbours(self._best) if self._best else []
        drawn = (self.grid.draw(self.rng) for _ in range(DRAWN))
        points = dict.fromkeys(point for point in (*near, *drawn) if point is not None)
        return np.array(list(points), np.int32).reshape(len(points), len(self.grid.names))

    def _scored(self) -> Array:
        """Return the weights of the points that can be drawn, of shape (points,)."""
        # Before any result, all points together stand for the best one.
        base = np.array([self._best], np.int32) if self._best else self._points
        here = {name: float(c.mean()) for name, c in self._model.predicted(self.grid, base).items()}
        predicted = self._model.predicted(self.grid, self._points)
        found = weights(score(self._limits(here), here, predicted))
        found[[tuple(row) in self.asked for row in self._points.tolist()]] = 0.0
        return found

    def _limits(self, here: Counters) -> dict[str, float]:
        """Return the pressure on each unit at the best point.

        Where no use was measured, the predicted one counts, until enough costs are known: then
        units count as busy whose predicted work goes along with costs.

        Args:
            here: the predicted counters of the best point.
        """
        measured = self._counters.get(self._best, {}) if self._best else {}
        known = [point for point, cost in self.costs.items() if cost < FAILED]
        if len(known) < ENOUGH or measured.keys() & map(use_of, UNITS):
            return pressures({**here, **measured})
        costs = np.log([max(self.costs[point], 1e-300) for point in known])
        work = self._model.predicted(self.grid, np.array(known, np.int32))
        units = [unit for unit in UNITS if unit in work]
        return {unit: correlation(np.log1p(work[unit]), costs) for unit in units}


def correlation(one: Array, other: Array) -> float:
    """Return the correlation of two columns; 0 where it is negative, or a column is constant."""
    both = np.ptp(one) * np.ptp(other)
    return max(0.0, float(np.corrcoef(one, other)[0, 1])) if both > 0 else 0.0


def score(limits: Mapping[str, float], here: Counters, predicted: Mapping[str, Array]) -> Array:
    """Return how far each point relieves the units that limit another one; above 0 is better.

    Args:
        limits: the pressure on each unit, from 0 to 1.
        here: the predicted counters of that other point.
        predicted: the counters of each point.
    """
    total = np.zeros_like(next(iter(predicted.values())))
    for unit, limit in limits.items():
        if unit in predicted:
            less, both = here[unit] - predicted[unit], here[unit] + predicted[unit]
            total += 2 * limit * np.divide(less, both, out=np.zeros_like(both), where=both > 0)
    return total


def weights(scores: Array) -> Array:
    """Return the weights with which points are drawn by their scores, as KTT has them."""
    worst, best = min(float(scores.min()), -1e-12), max(float(scores.max()), 1e-12)
    scaled = np.where(scores < 0, 1 - scores / worst, 1 + scores / best) ** POWER
    found: Array = np.maximum(np.where(scores < CUTOFF, 0.0, scaled), LEAST)
    return found


def with_model(path: Path) -> SearcherKind:
    """Return the searcher with the model in a file.

    Raises:
        UserError: the file cannot be read, or is no model.
    """
    model = read_model(path)
    return SearcherKind(SEARCHER.name, SEARCHER.help, partial(Profile, model=model), model.check)


def _no_model(grid: Grid, rng: random.Random | None = None) -> Searcher:
    raise UserError(
        "the searcher profile needs a model of counters",
        where="--model",
        hint="name one with --model FILE; gi-cuda tune --train-model FILE makes it",
    )


SEARCHER = SearcherKind(
    "profile",
    "by hardware counters, with a model (--model)",
    _no_model,
    _no_model,
)
