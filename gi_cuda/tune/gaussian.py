"""A Gaussian process whose predictions for a fixed set of candidates are kept up to date.

Rasmussen & Williams 2006, "Gaussian Processes for Machine Learning", algorithm 2.1 and section 5.4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.floating[Any]]

NOISES = (1e-4, 1e-3, 1e-2, 1e-1)
"""Variances of the noise that are tried, as shares of the variance of the process."""

STEPS = (0.5, 0.7, 1.4, 2.0)
"""Factors of a length scale that are tried."""

PRIOR_DEVIATION = 1.0
"""Deviation of the logarithm of the length scales; their mean is 0, as columns span 0 to 1."""


@dataclass(frozen=True)
class Kernel:
    """The covariance of a process of variance 1.

    Attributes:
        scales: the length scale of each column.
        noise: the variance of the noise.
    """

    scales: Array
    noise: float

    def between(self, left: Array, right: Array) -> Array:
        """Return the Matern covariance (nu = 5/2) of the rows of two arrays."""
        a, b = left / self.scales, right / self.scales
        squared = (a * a).sum(1)[:, None] + (b * b).sum(1)[None, :] - 2.0 * (a @ b.T)
        distance = np.sqrt(5.0 * np.maximum(squared, 0.0))
        found: Array = (1.0 + distance + distance * distance / 3.0) * np.exp(-distance)
        return found

    def root(self, x: Array) -> Array:
        """Return the lower Cholesky factor of the covariance of noisy values at rows."""
        root: Array = np.linalg.cholesky(self.between(x, x) + self.noise * np.eye(len(x)))
        return root

    def evidence(self, x: Array, y: Array) -> float:
        """Return the log posterior of the kernel, up to a constant.

        The variance of the process is the most likely one.
        """
        root = self.root(x)
        white = np.linalg.solve(root, y)
        fit = 0.5 * len(y) * np.log(white @ white / len(y) + 1e-12)
        prior = 0.5 * np.square(np.log(self.scales) / PRIOR_DEVIATION).sum()
        return float(-fit - np.log(np.diag(root)).sum() - prior)

    def fitted(self, x: Array, y: Array) -> Kernel:
        """Return a more likely kernel: one round of coordinate search from this one."""
        best = max((Kernel(self.scales, noise) for noise in NOISES), key=lambda k: k.evidence(x, y))
        for at in range(len(self.scales)):
            tried = [best]
            for step in STEPS:
                scales = best.scales.copy()
                scales[at] *= step
                tried.append(Kernel(scales, best.noise))
            best = max(tried, key=lambda kernel: kernel.evidence(x, y))
        return best


class Process:
    """A Gaussian process of mean 0, conditioned on rows that are added one by one.

    Adding a row and predicting take time proportional to rows times candidates.

    Args:
        candidates: the rows to predict, of shape (candidates, columns).
        x: the first rows whose values are known, of shape (rows, columns).

    Attributes:
        variance: the variance of the values that the last prediction was made from.
    """

    def __init__(self, kernel: Kernel, candidates: Array, x: Array) -> None:
        self._kernel, self._candidates, self._x = kernel, candidates, x
        self._inverse = np.linalg.inv(kernel.root(x))  # of the Cholesky factor
        self._cross = (self._inverse @ kernel.between(x, candidates)).astype(np.float32)
        self._variance = 1.0 - np.square(self._cross).sum(0, dtype=np.float64)
        self.variance = 1.0

    def add(self, row: Array) -> None:
        """Condition on one more row."""
        rows = len(self._x)
        link = self._inverse @ self._kernel.between(self._x, row[None, :])[:, 0]
        rest = math.sqrt(max(1.0 + self._kernel.noise - float(link @ link), 1e-10))
        inverse = np.pad(self._inverse, (0, 1))
        inverse[rows] = np.append(-link @ self._inverse, 1.0) / rest
        used = self._cross[:rows]
        if len(self._cross) == rows:
            self._cross = np.concatenate([used, np.empty_like(used)])
        away = self._kernel.between(row[None, :], self._candidates)[0]
        self._cross[rows] = (away - link.astype(np.float32) @ used) / rest
        self._variance -= np.square(self._cross[rows].astype(np.float64))
        self._inverse, self._x = inverse, np.concatenate([self._x, row[None, :]])

    def predict(self, y: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation of all candidates.

        Args:
            y: the values of all rows.
        """
        white = self._inverse @ y
        mean: Array = (white.astype(np.float32) @ self._cross[: len(y)]).astype(np.float64)
        self.variance = max(float(white @ white) / len(y), 1e-12)
        return mean, np.sqrt(self.variance * np.maximum(self._variance, 1e-10))
