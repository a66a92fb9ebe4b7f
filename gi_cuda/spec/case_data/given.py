"""Compact summary of a case's inputs, which may be large."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.spec.case_data.cases import CaseData
from gi_cuda.spec.toml_file.fingerprint import input_hashes

_SMALL = 1 << 16
"""Largest size of an input, in bytes, that is kept as it is."""


@dataclass(frozen=True, slots=True)
class Given:
    """Summary of the inputs of a case.

    Attributes:
        hashes: hash of each value, by name.
        scalars: scalars, by name.
        small: inputs of at most 64 KiB, by name.
        uniform: value of each larger input whose elements are all equal, by name.
    """

    hashes: Mapping[str, str]
    scalars: Mapping[str, np.generic]
    small: Mapping[str, NDArray[Any]]
    uniform: Mapping[str, object]


def _is_uniform(array: NDArray[Any]) -> bool:
    """Tell whether all values of an array are equal.

    The first values are compared first, because most arrays differ early.
    """
    return bool((array[:_SMALL] == array[0]).all() and (array == array[0]).all())


def given(case: CaseData) -> Given:
    """Summarize the inputs of a case."""
    small = {name: array.copy() for name, array in case.buffers.items() if array.nbytes <= _SMALL}
    uniform = {
        name: array[0]
        for name, array in case.buffers.items()
        if name not in small and _is_uniform(array)
    }
    return Given(input_hashes(case), case.scalars, small, uniform)
