"""``gi-cuda init --t1`` writes a target that passes ``check``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import gi_cuda
from tests.t1 import Json, kernel_tuner, ktt, write


@pytest.mark.parametrize("description", [kernel_tuner(), ktt()], ids=["kernel_tuner", "ktt"])
def test_target_of_a_t1_file_is_sound(tmp_path: Path, description: Json) -> None:
    path = write(tmp_path, description)
    made = gi_cuda("init", "--t1", path, "-o", tmp_path / "target", "--json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["kernels"] == ["smooth"]
    checked = gi_cuda("check", tmp_path / "target", "--backend", "host")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "ready to evolve" in checked.stdout


def test_mistake_has_status_2(tmp_path: Path) -> None:
    description = kernel_tuner()
    description["KernelSpecification"]["Language"] = "OpenCL"
    refused = gi_cuda("init", "--t1", write(tmp_path, description), "-o", tmp_path / "target")
    assert refused.returncode == 2
    assert "KernelSpecification.Language: the language is OpenCL" in refused.stderr
    assert not (tmp_path / "target").exists()


def test_option_of_a_source_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, kernel_tuner())
    refused = gi_cuda("init", tmp_path / "smooth.cu", "--t1", path)
    assert refused.returncode == 2
    assert "FILE is for a source of your own" in refused.stderr
