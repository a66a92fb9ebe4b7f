"""Differences between the outputs of a variant and of the reference, where an oracle accepts
both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.protocol.requests import Record, Recorded
from gi_cuda.backends.protocol.variants import Binary, Compiler
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.evaluate.candidates import Candidate, build_candidates


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference between two versions of one output, over all cases.

    Attributes:
        differing, size: number of values that differ, and number of all values.
        largest: the largest distance between two values; None if they are not floating-point.
        relative: `largest` divided by the largest value of its case.
    """

    differing: int
    size: int
    largest: float | None = None
    relative: float = 0.0

    def __add__(self, other: Difference) -> Difference:
        distances = [one for one in (self.largest, other.largest) if one is not None]
        return Difference(
            self.differing + other.differing,
            self.size + other.size,
            max(distances, default=None),
            max(self.relative, other.relative),
        )

    def __str__(self) -> str:
        """Describe it: ``3 of 100 values differ, by at most 2.4e-07 (1.2e-07 of the largest)``."""
        said = f"{self.differing} of {self.size} values differ"
        if self.largest is None:
            return said
        return f"{said}, by at most {self.largest:.2g} ({self.relative:.2g} of the largest)"


def difference(got: NDArray[Any], want: NDArray[Any]) -> Difference:
    """Compare two versions of an output; two NaNs count as equal."""
    if got.dtype.kind != "f":
        return Difference(int(np.count_nonzero(got != want)), got.size)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    differing = int(np.count_nonzero(~same))
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(got.astype(np.float64) - want.astype(np.float64))[~same]
    # A number beside NaN is infinitely far off.
    largest = float(np.max(np.nan_to_num(distance, nan=np.inf, posinf=np.inf), initial=0.0))
    finite = np.abs(want[np.isfinite(want)])
    scale = float(np.max(finite, initial=0.0))
    return Difference(differing, got.size, largest, largest / scale if scale else 0.0)


def answer_differences(
    one: Candidate,
    cases: Sequence[str],
    reference: Path,
    compiler: Compiler,
    pool: Pool[int],
    folder: Path,
    limit: float,
) -> Mapping[str, Difference] | None:
    """Run a variant once on each case, and compare its judged outputs with the reference's.

    Args:
        reference: folder with the reference's outputs.
        folder: for the binary and the variant's outputs.
        limit: seconds after which a launch counts as hung.

    Returns:
        The differences by output; None if the variant does not compile or does not end.
    """
    (binary,) = build_candidates(compiler, [one], folder)
    if not isinstance(binary, Binary):
        return None
    place = folder / "outputs"
    answer = pool.ask(Record(one.program(binary, cases), place, 1, limit))
    if not isinstance(answer, Recorded):
        return None
    found: dict[str, Difference] = {}
    for case in cases:
        for name, each in _compared(place / f"{case}.npz", reference / f"{case}.npz"):
            found[name] = found[name] + each if name in found else each
    return found


def _compared(mine: Path, theirs: Path) -> Iterator[tuple[str, Difference]]:
    with np.load(mine) as got, np.load(theirs) as want:
        for name in got.files:
            yield name, difference(got[name][0], want[name][0])


def answer_words(found: Mapping[str, Difference] | None) -> str:
    """Describe how the outputs of a patched file differ; "" if nothing is known."""
    if not found:
        return ""
    differing = {name: one for name, one in found.items() if one.differing}
    if not differing:
        return "its answers on the held-out cases are those of the original, bit for bit"
    said = "; ".join(f"{name}: {one}" for name, one in differing.items())
    return f"its answers on the held-out cases, beside the original's: {said}"
