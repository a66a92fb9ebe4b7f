"""Compute the largest differences between the outputs of a rewrite and of its original."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.analyze.judge.records import OutputError
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.requests import Record, Recorded
from gi_cuda.backends.workers.pool import Pool
from gi_cuda.spec import Target
from gi_cuda.spec.oracles import Outputs
from gi_cuda.spec.oracles.tolerance import Tolerance


def output_errors(
    target: Target,
    program: Program,
    reference: Path,
    pool: Pool[int],
    folder: Path,
    limit: float,
    exact: Mapping[str, Outputs],
) -> tuple[OutputError, ...]:
    """Run a program once on each of its cases, and return the largest error of each output.

    The result is empty if the program does not end.

    Args:
        target: the target.
        program: the program.
        reference: folder with the reference's outputs.
        pool: the workers.
        folder: folder for the program's outputs.
        limit: seconds after which a launch counts as hung.
        exact: known outputs in double precision, by case.
    """
    answer = pool.ask(Record(program, folder, 1, limit))
    if not isinstance(answer, Recorded):
        return ()
    found: dict[str, OutputError] = {}
    for case in program.cases:
        files = folder / f"{case}.npz", reference / f"{case}.npz"
        for one in _of_case(target, case, *files, exact.get(case, {})):
            known = found.get(one.output)
            if known is None or _size(one) > _size(known):
                found[one.output] = one
    return tuple(found.values())


def _size(one: OutputError) -> tuple[float, float]:
    return one.of_tolerance or 0.0, one.largest or 0.0


def _of_case(
    target: Target, case: str, mine: Path, theirs: Path, exact: Outputs
) -> Iterator[OutputError]:
    tolerances = _tolerances(target)
    with np.load(mine) as got, np.load(theirs) as want:
        for name in got.files:
            one = _error(name, case, got[name][0], want[name][0], tolerances.get(name))
            if name in exact and exact[name].dtype.kind == "f":
                far = [_largest(found[name][0], exact[name]) for found in (got, want)]
                one = replace(one, of_float64=far[0], original_of_float64=far[1])
            yield one


def _largest(one: NDArray[Any], other: NDArray[Any]) -> float:
    return float(np.max(_distance(one, other), initial=0.0))


def _distance(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.float64]:
    """Return absolute differences: 0 between two NaN, infinity between NaN and a number."""
    a, b = one.astype(np.float64), other.astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        distance: NDArray[np.float64] = np.abs(a - b)
    distance[(a == b) | (np.isnan(a) & np.isnan(b))] = 0.0
    distance[np.isnan(distance)] = np.inf
    return distance


def _tolerances(target: Target) -> Mapping[str, Tolerance]:
    """Return the tolerance check of each output that has one, by output."""
    judged = [one for one in target.buffers if one.role.judged and one.type.small is None]
    return {
        buffer.name: check
        for check in target.oracle.checks
        if isinstance(check, Tolerance) and not check.members
        for buffer in judged
        if not check.buffers or buffer.name in check.buffers
    }


def _error(
    name: str, case: str, got: NDArray[Any], want: NDArray[Any], tolerance: Tolerance | None
) -> OutputError:
    if got.dtype.kind not in "iuf":
        return OutputError(name, case, None, None)
    distance = _distance(got, want)
    largest = float(np.max(distance, initial=0.0))
    if tolerance is None:
        return OutputError(name, case, largest, None)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        allowed = tolerance.absolute + tolerance.relative * np.abs(want.astype(np.float64))
        share = np.where(distance == 0, 0.0, distance / allowed)
    return OutputError(
        name, case, largest, float(np.max(np.nan_to_num(share, posinf=np.inf), initial=0.0))
    )


def seeds_of(target: Target, cases: Sequence[str]) -> dict[str, int]:
    """Return the seeds of the cases that have one, by case."""
    return {
        one.name: one.args["seed"]
        for one in target.cases
        if one.name in cases and isinstance(one.args.get("seed"), int)
    }
