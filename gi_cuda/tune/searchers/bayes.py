"""Bayesian optimisation: a Gaussian process of the logarithm of the cost, expected improvement.

Jones et al. 1998, "Efficient global optimization of expensive black-box functions". Points that
were asked and are not told yet count as if they cost what is predicted ("kriging believer",
Ginsbourger et al. 2010), so that the points of a batch differ.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from gi_cuda.spec.parameters import Value
from gi_cuda.tune.gaussian import Array, Kernel, Process
from gi_cuda.tune.grid import Grid, Point
from gi_cuda.tune.searcher import SearcherKind
from gi_cuda.tune.walk import FAILED, Unrepeated

COVER = 12
"""Points that cover the space, before the first model."""

DRAWS = 50
"""Random points of which the one farthest from all asked points is asked, to cover the space."""

CANDIDATES = 20_000
"""Points that the model predicts, at most: all of a small grid; of a large one the neighbours of
the best points, and random points."""

ROWS = 600
"""Points that the model is conditioned on, at most: the best and the latest."""

FITTED = 200
"""Points that the length scales are fitted to, at most."""

GROWTH = 1.2
"""Factor by which results grow until length scales are fitted again."""

CLIP = 0.75
"""Quantile of the costs above which all costs, also those of failing points, count as equal."""

NOISE = 1e-2
"""Variance of the noise before the first fit."""


class Bayes(Unrepeated):
    """A searcher that asks the point of the largest expected improvement."""

    def __init__(self, grid: Grid, rng: random.Random) -> None:
        super().__init__(grid, rng)
        self._columns = [_columns(values) for values in grid.values]
        count = sum(columns.shape[1] for columns in self._columns)
        self._kernel = Kernel(np.ones(count), NOISE)
        self._process: Process | None = None
        self._fit_at = COVER
        self._stale = False
        self._rows: list[Point] = []
        self._guesses: dict[Point, float] = {}

    def tell(self, point: Point, cost: float | None) -> None:
        """Take what a point costs."""
        fresh = point not in self.asked
        best = min(self.costs.values(), default=FAILED)
        super().tell(point, cost)
        # Candidates of a large grid include the neighbours of the best point.
        whole = self.listing is not None and len(self.listing) <= CANDIDATES
        self._stale |= fresh or (not whole and self.costs[point] < best)

    def wanted(self, first: bool) -> Point | None:
        """Return the candidate of the largest expected improvement."""
        if len(self.asked) < COVER or sum(map(math.isfinite, self.costs.values())) < 3:
            return self._far()
        if self._process is None or self._stale or len(self.costs) >= self._fit_at:
            self._process = self._model()
        gain = self._gain(self._process)
        at = int(gain.argmax())
        return tuple(self._candidates[at].tolist()) if gain[at] > -np.inf else None

    def noted(self, point: Point) -> None:
        """Condition the model on a point that is asked now."""
        at = self._index.get(point) if self._process else None
        if self._process is not None and at is not None:
            self._open[at] = False
            self._guesses[point] = float(self._mean[at])
            self._rows.append(point)
            self._process.add(self._encoded([point])[0])

    def _far(self) -> Point | None:
        """Return the one of some random points that is farthest from all asked points."""
        drawn = (self.grid.draw(self.rng) for _ in range(DRAWS))
        fresh = [one for one in drawn if one is not None and one not in self.asked]
        if not fresh or not self.asked:
            return fresh[0] if fresh else None
        here, there = self._encoded(fresh), self._encoded(self.asked)
        distances = np.abs(here[:, None, :] - there[None, :, :]).sum(2).min(1)
        return fresh[int(distances.argmax())]

    def _model(self) -> Process:
        """Return a model of all results, and choose the candidates."""
        told = _best_and_latest(self.costs, self.costs, FITTED)
        if len(self.costs) >= self._fit_at:
            self._fit(told)
        if self.listing is not None and len(self.listing) <= CANDIDATES:
            self._candidates = self.listing
        else:
            near = chain.from_iterable(map(self.grid.neighbours, told[:20]))
            drawn = (self.grid.draw(self.rng) for _ in range(CANDIDATES // 4))
            found = dict.fromkeys(point for point in chain(near, drawn) if point is not None)
            self._candidates = np.array(list(found), np.int32)
        self._index = {tuple(row): at for at, row in enumerate(self._candidates.tolist())}
        self._open = np.array([point not in self.asked for point in self._index])
        self._rows = _best_and_latest(self.asked, self.costs, ROWS)
        self._stale = False
        return Process(self._kernel, self._encoded(self._candidates), self._encoded(self._rows))

    def _fit(self, told: Sequence[Point]) -> None:
        """Fit the length scales to the costs of some points."""
        y = self._logs(told)
        self._kernel = self._kernel.fitted(self._encoded(told), y - y.mean())
        self._fit_at = math.ceil(len(self.costs) * GROWTH)

    def forecast(self, fits: int) -> tuple[Array, Array]:
        """Predict the logarithms of the costs of all candidates that were not asked.

        Args:
            fits: rounds of fitting the length scales first.

        Returns:
            Means, relative to the logarithm of the least cost, and standard deviations of what
            would be measured.
        """
        told = _best_and_latest(self.costs, self.costs, FITTED)
        for _ in range(fits):
            self._fit(told)
        process = self._model()
        best, deviation = self._predicted(process)
        noise = self._kernel.noise * process.variance
        return self._mean[self._open] - best, np.sqrt(deviation**2 + noise)[self._open]

    def _gain(self, process: Process) -> Array:
        """Return the expected improvement of each candidate; -inf for those that were asked."""
        best, deviation = self._predicted(process)
        gain: Array = improvement(best - self._mean, deviation)
        gain[~self._open] = -np.inf
        return gain

    def _predicted(self, process: Process) -> tuple[float, Array]:
        """Update the means of all candidates. Return the least value, and all deviations."""
        told = [at for at, point in enumerate(self._rows) if point in self.costs]
        logs = self._logs([self._rows[at] for at in told])
        y = np.array([self._guesses.get(point, 0.0) for point in self._rows])
        y[told] = logs - logs.mean()
        self._mean, deviation = process.predict(y)
        return float(y[told].min()), deviation

    def _logs(self, points: Iterable[Point]) -> Array:
        """Return the logarithms of costs, clipped."""
        logs = np.log(np.maximum([self.costs[point] for point in points], 1e-300))
        top = float(np.quantile(logs[np.isfinite(logs)], CLIP))
        clipped: Array = np.minimum(logs, top)
        return clipped

    def _encoded(self, points: Iterable[Point] | NDArray[np.int32]) -> Array:
        """Return the columns of points, of shape (points, columns)."""
        places = points if isinstance(points, np.ndarray) else np.array(list(points), np.int32)
        return np.concatenate([c[places[:, at]] for at, c in enumerate(self._columns)], 1)


def improvement(gap: Array, deviation: Array) -> Array:
    """Return how far below the best a normal value lies, on average.

    Args:
        gap: the best value minus the mean.
        deviation: the standard deviation.
    """
    z = gap / deviation
    density = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    # An approximation of the normal distribution function (Page 1977), exact to 2e-4.
    below = 0.5 * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * z * (1.0 + 0.044715 * z * z)))
    # Far from the best all improvements are 0, to machine precision; there z ranks candidates.
    found: Array = np.where(z > -3.0, deviation * (z * below + density), z * 1e-9)
    return found


def _best_and_latest(points: Iterable[Point], costs: dict[Point, float], limit: int) -> list[Point]:
    """Return points by cost; of more than a limit the cheaper half and those asked last."""
    every = list(points)
    ranked = sorted(every, key=lambda point: costs.get(point, FAILED))
    kept = ranked if len(ranked) <= limit else ranked[: limit // 2] + every[-limit // 2 :]
    return list(dict.fromkeys(kept))


def _columns(values: Sequence[Value]) -> Array:
    """Return what stands for the values of a parameter, of shape (values, columns), from 0 to 1.

    Sizes have a second column: the power of two that divides them, as warps and memory banks are
    powers of two. Example: 32, 48, 64 -> 0, 0.5, 1 and 0.5, 0, 1.
    """
    places = np.arange(len(values), dtype=np.float64)
    if len(values) < 2:
        return np.empty((len(values), 0))
    if any(isinstance(value, (str, bool)) or value <= 0 for value in values):
        return _scaled(places)[:, None]
    sizes = np.array(values, np.float64)
    columns = [0.5 * _scaled(places) + 0.5 * _scaled(np.log(sizes))]
    if all(size.is_integer() for size in sizes.tolist()):
        twos = np.log([int(size) & -int(size) for size in sizes.tolist()])
        if (np.diff(twos) < 0).any():
            columns.append(_scaled(twos))
    return np.stack(columns, 1)


def _scaled(column: Array) -> Array:
    scaled: Array = (column - column.min()) / (np.ptp(column) or 1.0)
    return scaled


SEARCHER = SearcherKind("bayes", "Bayesian optimisation with a Gaussian process", Bayes)
