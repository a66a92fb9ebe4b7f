"""The oracle ``unordered``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from gi_cuda.spec.oracles.base import Judgement, OutputCheck, Outputs

if TYPE_CHECKING:
    from gi_cuda.spec.toml_file import key_types as key


@dataclass(frozen=True, slots=True)
class Unordered(OutputCheck):
    """A check that buffers have the same rows as the reference, bit for bit, in any order.

    It is for kernels whose threads append to a list, at an index from an atomic counter.

    Attributes:
        buffers: buffers to which threads append together; a row spans all of them.
        row: number of values of each buffer in one row.
    """

    kind: Literal["unordered"] = field(default="unordered", kw_only=True)
    buffers: tuple[str, ...] = ()
    row: key.Count = 1

    def prepare(self, runs: Sequence[Outputs]) -> NDArray[Any]:
        return sorted_rows([runs[0][name] for name in self.buffers or runs[0]], self.row)

    def judge(self, case: Mapping[str, Any], outputs: Outputs, reference: Any) -> Judgement:
        """Count the rows of the reference that are missing in the outputs."""
        names = self.buffers or tuple(outputs)
        got = sorted_rows([outputs[name] for name in names], self.row)
        if np.array_equal(got, reference):
            return Judgement(0.0)
        wanted, often = np.unique(reference, return_counts=True)
        found, times = np.unique(got, return_counts=True)
        there = np.isin(wanted, found)
        often[there] -= np.minimum(often[there], times[np.searchsorted(found, wanted[there])])
        missing = int(often.sum())
        said = ", ".join(names)
        return Judgement(
            float(missing), f"{missing} of the {reference.size} rows of {said} are missing"
        )


def sorted_rows(arrays: Sequence[NDArray[Any]], row: int = 1) -> NDArray[Any]:
    """Return the sorted rows of several arrays of equal length, each row as its bytes.

    Args:
        arrays: the arrays; a row spans all of them.
        row: number of values of each array in one row.
    """
    columns = [
        np.ascontiguousarray(one).view(np.uint8).reshape(-1, row * one.itemsize) for one in arrays
    ]
    rows = np.ascontiguousarray(np.hstack(columns))
    return np.sort(rows.view(np.dtype((np.void, rows.shape[1]))).reshape(-1))
