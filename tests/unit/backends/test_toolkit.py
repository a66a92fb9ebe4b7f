"""Search for nvcc, and messages if it is missing or incomplete."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.backends.cuda import toolkit
from gi_cuda.backends.cuda.toolkit import PACKAGES, find_toolkit
from gi_cuda.errors import UserError


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 9.9, V9.9.42'\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment with a host compiler and nothing of CUDA."""
    program(tmp_path / "bin" / "gcc")
    monkeypatch.setattr(toolkit, "_USUAL", tmp_path / "nowhere")
    monkeypatch.setattr(toolkit, "_pip_roots", lambda: iter(()))
    return {"PATH": str(tmp_path / "bin")}


def test_nothing_is_there(bare: dict[str, str]) -> None:
    with pytest.raises(UserError) as caught:
        find_toolkit(bare)
    assert "pip install nvidia-cuda-nvcc" in str(caught.value)


def test_path_comes_first(bare: dict[str, str], tmp_path: Path) -> None:
    home = program(tmp_path / "home" / "bin" / "nvcc")
    named = {**bare, "CUDA_HOME": str(tmp_path / "home")}
    assert find_toolkit(named).nvcc == home
    on_path = program(tmp_path / "bin" / "nvcc")
    found = find_toolkit(named)
    assert (found.nvcc, found.origin, found.version) == (on_path, "PATH", "9.9.42")


@pytest.mark.parametrize("variable", ["CUDA_HOME", "CUDA_PATH"])
def test_a_folder_named_by_a_variable(bare: dict[str, str], tmp_path: Path, variable: str) -> None:
    nvcc = program(tmp_path / "somewhere" / "bin" / "nvcc")
    found = find_toolkit({**bare, variable: str(tmp_path / "somewhere")})
    assert (found.nvcc, found.origin) == (nvcc, variable)


def test_pip_packages(
    bare: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "nvidia" / "cu13"
    monkeypatch.setattr(toolkit, "_pip_roots", lambda: iter([root]))
    for file in PACKAGES.values():
        program(root / file)
    assert find_toolkit(bare).origin == "pip packages"
    (root / PACKAGES["nvidia-nvvm"]).unlink()
    with pytest.raises(UserError, match="nvidia-nvvm is missing") as caught:
        find_toolkit(bare)
    assert caught.value.hint == "pip install nvidia-nvvm"


def test_no_host_compiler(bare: dict[str, str], tmp_path: Path) -> None:
    program(tmp_path / "bin" / "nvcc")
    (tmp_path / "bin" / "gcc").unlink()
    with pytest.raises(UserError, match="gcc is not on PATH"):
        find_toolkit(bare)
