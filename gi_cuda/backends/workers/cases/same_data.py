"""Comparison of the data of cases."""

from __future__ import annotations

import numpy as np

from gi_cuda.backends.protocol.agreement import same_bytes
from gi_cuda.spec import CaseData

_FEW = 1024
"""Number of items of arrays that are compared first."""


def is_same_data(one: CaseData, other: CaseData) -> bool:
    """Tell whether two cases have the same data, bit for bit."""
    if one.extras or other.extras:
        return False
    mine, theirs = ({**case.scalars, **case.buffers} for case in (one, other))
    if mine.keys() != theirs.keys():
        return False
    pairs = [[np.array(some[name], ndmin=1, copy=None) for some in (mine, theirs)] for name in mine]
    if any(first.dtype != second.dtype or first.size != second.size for first, second in pairs):
        return False
    return all(
        same_bytes(first[:most], second[:most])
        for most in (_FEW, None)  # whole arrays only if the first items are equal
        for first, second in pairs
    )
