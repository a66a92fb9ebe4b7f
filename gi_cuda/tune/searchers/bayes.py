"""Bayesian optimisation: a Gaussian process of the logarithm of the cost, expected improvement."""

from __future__ import annotations

import math
import random

import numpy as np
from numpy.typing import NDArray

from gi_cuda.tune.gaussian import Array, Process, fitted
from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.searcher import SearcherKind
from gi_cuda.tune.walk import FAILED, Unrepeated

COVER = 20
"""Points of the first batch, which covers the space."""

CANDIDATES = 20_000
"""Points that are predicted at most."""

ROWS = 600
GROWTH = 1.3
CLIP = 0.75


class Bayes(Unrepeated):
    """A searcher that asks the points of the largest expected improvement."""

    def __init__(self, grid: Grid, rng: random.Random) -> None:
        super().__init__(grid, rng)
        self._columns = columns(grid)
        self._process: Process | None = None
        self._rows: list[Point] = []
        self._guesses: dict[Point, float] = {}
        self._due = COVER
        self._scales = np.ones(len(self._columns))
        self._noise = 1e-2
        self._mean: Array = np.empty(0)
        self._deviation: Array = np.empty(0)
        self._best = 0.0

    def wanted(self, first: bool) -> Point | None:
        """Return the candidate of the largest expected improvement."""
        if len(self.asked) < COVER:
            return self._apart()
        if sum(cost < FAILED for cost in self.costs.values()) < 3:
            return None
        if self._process is None or len(self.costs) >= self._due:
            self._model()
        assert self._process is not None
        y, self._best = self._values()
        self._mean, self._deviation = self._process.predict(y)
        gain = improvement(self._best - self._mean, self._deviation)
        gain[~self._open] = -np.inf
        at = int(np.argmax(gain))
        if gain[at] == -np.inf:
            return None
        return tuple(self._candidates[at].tolist())

    def noted(self, point: Point) -> None:
        """Add a point that is asked to the model, with its predicted cost."""
        if self._process is None:
            return
        at = self._index.get(point)
        if at is not None:
            self._open[at] = False
            self._guesses[point] = float(self._mean[at])
            self._rows.append(point)
            self._process.add(self._encoded(np.array([point]))[0])

    def _apart(self) -> Point | None:
        """Return a random point that is far from all that were asked."""
        drawn = [point for point in (self.unasked_any() for _ in range(50)) if point is not None]
        if not self.asked or not drawn:
            return drawn[0] if drawn else None
        here = self._encoded(np.array(drawn))
        there = self._encoded(np.array(list(self.asked)))
        distance = np.abs(here[:, None, :] - there[None, :, :]).sum(2).min(1)
        return drawn[int(np.argmax(distance))]

    def unasked_any(self) -> Point | None:
        point = self.grid.draw(self.rng)
        return None if point in self.asked else point

    def _model(self) -> None:
        if self.listing is not None and len(self.listing) <= CANDIDATES:
            self._candidates = self.listing
        else:
            best = sorted(self.costs, key=lambda p: self.costs[p])[:20]
            pool = {q: None for p in best for q in self.grid.neighbours(p)}
            while len(pool) < CANDIDATES // 2:
                q = self.unasked_any()
                if q is not None:
                    pool[q] = None
            self._candidates = np.array(list(pool), np.int32)
        self._index = {tuple(row): at for at, row in enumerate(self._candidates.tolist())}
        self._open = np.array([p not in self.asked for p in self._index])
        self._rows = list(self.asked)
        if len(self._rows) > ROWS:
            ranked = sorted(self._rows, key=lambda p: self.costs.get(p, FAILED))
            kept = set(ranked[: ROWS // 2]) | set(self._rows[-ROWS // 2 :])
            self._rows = [p for p in self._rows if p in kept]
        told = [p for p in self._rows if p in self.costs]
        x = self._encoded(np.array(told))
        y = self._targets([self.costs[p] for p in told])
        self._scales, self._noise = fitted(x, y - y.mean(), self._scales, self._noise)
        self._process = Process(
            self._encoded(self._candidates),
            self._encoded(np.array(self._rows)),
            self._scales,
            self._noise,
        )
        self._due = math.ceil(len(self.costs) * GROWTH)

    def _values(self) -> tuple[Array, float]:
        told = [at for at, p in enumerate(self._rows) if p in self.costs]
        y = self._targets([self.costs[self._rows[at]] for at in told])
        mean = y.mean()
        values = np.array([self._guesses.get(p, 0.0) for p in self._rows])
        values[told] = y - mean
        return values, float(y.min() - mean)

    def _targets(self, costs: list[float]) -> Array:
        logs = np.log(np.array(costs))
        good = logs[logs < np.inf]
        top = np.quantile(good, CLIP) if len(good) else 0.0
        return np.minimum(logs, top)

    def _encoded(self, points: NDArray[np.int32]) -> Array:
        return np.stack([column[points[:, at]] for at, column in enumerate(self._columns)], 1)


def columns(grid: Grid) -> list[Array]:
    """Return for each parameter numbers of its values, from 0 to 1."""
    found = []
    for values in grid.values:
        count = len(values)
        ranks = np.arange(count) / max(count - 1, 1)
        if count > 2 and all(not isinstance(v, (str, bool)) and v > 0 for v in values):
            logs = np.log(np.array(values, float))
            spread = logs.max() - logs.min()
            ranks = 0.5 * ranks + 0.5 * (logs - logs.min()) / spread
        found.append(ranks)
    return found


def improvement(gap: Array, deviation: Array) -> Array:
    """Return the expected improvement of normal predictions."""
    z = gap / deviation
    cumulative = 0.5 * (1.0 + np.tanh(0.7988 * z * (1.0 + 0.04417 * z * z)))
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    gain = deviation * (z * cumulative + density)
    return np.where(z > -4, gain, -1e-3 * -z)


SEARCHER = SearcherKind("bayes", "Bayesian optimisation", Bayes)
