"""Tolerances of captured targets: from other runs, and from a run in double precision."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.report.targets.capture import captured_lines
from gi_cuda.spec import load_target
from gi_cuda.spec.oracles import Tolerance
from tests.integration.capture.made import HEAT, MIXED, checked, heat, took, total, wish


def test_what_differs_from_run_to_run_is_allowed(tmp_path: Path) -> None:
    (one,) = heat(40, 30, 1)
    again = one.memories[2][1] + np.float32(1e-3)
    run = [dataclasses.replace(one, again=({2: again},))]
    found = took(tmp_path, "diffuse", wish(HEAT / "kernels.cu", tmp_path / "t"), run)
    assert found.tolerances["to"].absolute == pytest.approx(4e-3, rel=0.01)
    assert "from run to run" in str(found.files["target.toml"])


def test_what_the_answers_are_off_themselves_is_allowed(tmp_path: Path) -> None:
    """A sum gets large and small again; a rewrite may add in another order."""
    found = took(tmp_path, "total", wish(MIXED, tmp_path / "t"), [total(2000)])
    allowed = found.tolerances["out"]
    assert "those in double precision" in allowed.why
    assert 1e-5 < allowed.relative < 1e-3
    checked(tmp_path / "t")


def test_a_few_answers_may_be_further_off_where_the_kernels_own_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = total(2000)
    answers = made.memories[1][1]
    exact = answers * 1.00002
    exact[:40] *= 1.0005
    monkeypatch.setattr(
        "gi_cuda.capture.tolerances.in_double_precision", lambda *_: {"launch-1": {"out": exact}}
    )
    found = took(tmp_path, "total", wish(MIXED, tmp_path / "t"), [made])
    most, others = load_target(tmp_path / "t").oracle.checks
    assert isinstance(most, Tolerance)
    assert isinstance(others, Tolerance)
    assert (most.outside, others.outside) == (0.04, 0.0)
    assert others.relative == pytest.approx(5e-4, rel=0.1)
    assert "a share of 0.04 by up to" in "\n".join(captured_lines(found))
