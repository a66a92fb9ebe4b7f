"""A Gaussian process of points, whose predictions for all candidates are kept up to date."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

NOISE = (1e-4, 1e-3, 1e-2, 1e-1)
"""Variances of the noise that are tried, as shares of the variance of the process."""

STEPS = (0.5, 0.7, 1.4, 2.0)
"""Factors of a length scale that are tried."""


def covariance(left: Array, right: Array, scales: Array) -> Array:
    """Return the Matern covariance (nu = 5/2) of the rows of two arrays; variance 1."""
    a, b = left / scales, right / scales
    squared = (a * a).sum(1)[:, None] + (b * b).sum(1)[None, :] - 2.0 * (a @ b.T)
    distance = np.sqrt(5.0 * np.maximum(squared, 0.0))
    return (1.0 + distance + distance * distance / 3.0) * np.exp(-distance)


def evidence(x: Array, y: Array, scales: Array, noise: float) -> float:
    """Return the logarithm of the marginal likelihood, but for a constant, plus a prior.

    The variance of the process is the most likely one.
    """
    lower = _cholesky(covariance(x, x, scales), noise)
    white = np.linalg.solve(lower, y)
    fit = -0.5 * len(y) * np.log(white @ white / len(y) + 1e-12) - np.log(np.diag(lower)).sum()
    return float(fit - 0.5 * (((np.log(scales) - PRIOR[0]) / PRIOR[1]) ** 2).sum())


PRIOR = (0.0, 1.0)
"""Mean and deviation of the logarithm of length scales; a parameter's places span 1."""


def fitted(x: Array, y: Array, scales: Array, noise: float) -> tuple[Array, float]:
    """Return more likely length scales and noise, by one round of coordinate search."""
    best = evidence(x, y, scales, noise)
    for other in NOISE:
        if (found := evidence(x, y, scales, other)) > best:
            best, noise = found, other
    for at in range(len(scales)):
        base = scales.copy()
        for step in STEPS:
            tried = base.copy()
            tried[at] *= step
            if (found := evidence(x, y, tried, noise)) > best:
                best, scales = found, tried
    return scales, noise


class Process:
    """A Gaussian process of mean 0, conditioned on rows that are added one by one.

    Args:
        candidates: where predictions are wanted, of shape (number, columns).
        x: the rows that are known, of shape (rows, columns).
    """

    def __init__(self, candidates: Array, x: Array, scales: Array, noise: float) -> None:
        self.candidates, self.scales, self.noise = candidates, scales, noise
        rows = len(x)
        self.x = x
        self._lower = _cholesky(covariance(x, x, scales), noise)
        self._cross = np.empty((rows + 256, len(candidates)), np.float32)
        self._cross[:rows] = np.linalg.solve(self._lower, covariance(x, candidates, scales))
        self.variance = 1.0 - np.square(self._cross[:rows]).sum(0, dtype=np.float64)

    def add(self, row: Array) -> None:
        """Condition on one more row."""
        rows = len(self.x)
        near = covariance(row[None, :], self.x, self.scales)[0]
        link = np.linalg.solve(self._lower, near)
        rest = np.sqrt(max(1.0 + self.noise - link @ link, 1e-10))
        lower = np.zeros((rows + 1, rows + 1))
        lower[:rows, :rows] = self._lower
        lower[rows, :rows], lower[rows, rows] = link, rest
        self._lower = lower
        if rows == len(self._cross):
            self._cross = np.concatenate([self._cross, np.empty_like(self._cross)])
        away = covariance(row[None, :], self.candidates, self.scales)[0]
        cross = (away - link.astype(np.float32) @ self._cross[:rows]) / rest
        self._cross[rows] = cross
        self.variance = self.variance - cross * cross
        self.x = np.concatenate([self.x, row[None, :]])

    def predict(self, y: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation at all candidates, given values of all rows."""
        white = np.linalg.solve(self._lower, y)
        mean = white.astype(np.float32) @ self._cross[: len(y)]
        variance = max(float(white @ white) / max(len(y), 1), 1e-12)
        return mean.astype(np.float64), np.sqrt(variance * np.maximum(self.variance, 1e-10))


def _cholesky(matrix: Array, noise: float) -> Array:
    matrix[np.diag_indices_from(matrix)] += noise
    return np.linalg.cholesky(matrix)
