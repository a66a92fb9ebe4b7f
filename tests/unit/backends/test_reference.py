"""Reference answers in a run's folder, written by any version."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gi_cuda.backends.workers.cases.case_runner import CaseRunner
from gi_cuda.spec import CaseData, CaseRole, load_target
from tests.conftest import TARGETS

NO_DEVICE: Any = None


@pytest.mark.parametrize("derived", ["as it is", "of another version", "gone"])
def test_the_arrays_are_enough(derived: str, tmp_path: Path) -> None:
    target = load_target(Path(__file__).parents[3] / "targets" / "sw_tuned")
    score = np.arange(5, dtype=np.int32)
    CaseRunner(NO_DEVICE, target, {}, tmp_path).store("short", [{"score": score}], tmp_path)
    prepared = tmp_path / "short.prepared"
    if derived == "gone":
        prepared.unlink()
    elif derived != "as it is":
        prepared.write_text('[["of another version", {}], []]\n')
    reference = CaseRunner(NO_DEVICE, target, {}, tmp_path).stored("short")
    assert list(reference.outputs) == ["score"]
    assert np.array_equal(reference.outputs["score"], score)


def test_cases_that_hold_the_same_are_recognized(tmp_path: Path) -> None:
    numbers = np.arange(5000, dtype=np.float32)
    later = numbers.copy()
    later[-1] = np.nan

    def case(name: str, values: np.ndarray, n: int) -> CaseData:
        return CaseData(name, CaseRole.TRAIN, {"a": values}, {"n": np.int32(n)}, {})

    every = [
        case("first", numbers, 3),
        case("again", numbers.copy(), 3),
        case("other scalar", numbers, 4),
        case("other end", later, 3),
        case("the same NaN", later.copy(), 3),
        case("other type", numbers.astype(np.int32), 3),
        case("shorter", numbers[:-1], 3),
        replace(case("known to an oracle alone", numbers, 3), extras={"answer": 1}),
    ]
    cases = {one.name: one for one in every}
    runner = CaseRunner(NO_DEVICE, load_target(TARGETS / "scale"), cases, tmp_path)
    twins = {"again": "first", "the same NaN": "other end"}
    assert {name: runner.twin(name) for name in cases} == {
        one: twins.get(one, one) for one in cases
    }


def test_what_is_stored_of_a_case_is_kept_for_its_twin(tmp_path: Path) -> None:
    target = load_target(TARGETS / "scale")
    runner = CaseRunner(NO_DEVICE, target, {}, tmp_path)
    (name,) = runner.types
    stored = {name: np.arange(4, dtype=np.float32)}
    runner.store("first", [stored], tmp_path)
    for _ in range(2):  # it may be there from an earlier recording
        runner.store_as("first", "again", tmp_path)
    runner.store("first", [{name: stored[name] + 1}], tmp_path)
    assert np.array_equal(runner.stored("again").outputs[name], stored[name]), "it stays"
