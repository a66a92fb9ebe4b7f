"""Regression trees, small enough to be written as JSON."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

Tree: TypeAlias = float | tuple[int, float, "Tree", "Tree"]
"""A value; or a column, a threshold, the tree for rows up to it, and the tree for other rows."""

DEPTH = 12
"""Most decisions from the root of a tree to a value."""


def grow(features: Array, values: Array, depth: int = DEPTH) -> Tree:
    """Return a tree that fits values, by the least sum of squared errors (Breiman et al. 1984).

    Args:
        features: what is known of each value, of shape (values, columns).
        depth: most decisions on the way to a value.
    """
    split = _split(features, values) if depth and np.ptp(values) > 0 else None
    if split is None:
        return float(values.mean())
    column, threshold = split
    low = features[:, column] <= threshold
    under, over = (grow(features[rows], values[rows], depth - 1) for rows in (low, ~low))
    return column, threshold, under, over


def _split(features: Array, values: Array) -> tuple[int, float] | None:
    """Return the best column and threshold; None where all rows are alike."""
    best, found = -np.inf, None
    count = np.arange(1, len(values))
    for column in range(features.shape[1]):
        order = features[:, column].argsort(kind="stable")
        ordered, sums = features[order, column], (values - values.mean())[order].cumsum()
        gains = sums[:-1] ** 2 / count + (sums[-1] - sums[:-1]) ** 2 / count[::-1]
        gains[ordered[1:] == ordered[:-1]] = -np.inf
        at = int(gains.argmax())
        if gains[at] > best:
            best, found = float(gains[at]), (column, float(ordered[at] + ordered[at + 1]) / 2)
    return found


def predict(tree: Tree, features: Array) -> Array:
    """Return the value of a tree for each row of features."""
    if not isinstance(tree, tuple):
        return np.full(len(features), tree)
    column, threshold, low, high = tree
    under = features[:, column] <= threshold
    found = np.empty(len(features))
    found[under], found[~under] = predict(low, features[under]), predict(high, features[~under])
    return found
