"""What variants are judged against is read from a run's folder, whichever version wrote it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gi_cuda.backends.workers.case_runner import CaseRunner
from gi_cuda.spec import load_target

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
