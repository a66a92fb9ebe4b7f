"""Architectures that a program has code for, as nvcc writes it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.capture.architectures import architectures

SOURCE = "__global__ void k(int *a) { a[0] = 1; }\n"


def test_they_are_those_of_nvcc_s_options(toolkit: Toolkit, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(SOURCE)
    code = [f"-gencode=arch=compute_{one},code=sm_{one}" for one in (80, 90)]
    line = [toolkit.nvcc, "-c", "k.cu", "-o", "k.o", *code]
    subprocess.run(line, cwd=tmp_path, check=True, capture_output=True)
    assert architectures(tmp_path / "k.o") == {80, 90}


def test_what_has_no_machine_code_has_none(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    magic = bytes.fromhex("50ed55ba")
    (tmp_path / "cut").write_bytes(magic + b"\x01\x00\x10\x00" + b"\xff" * 40)
    (tmp_path / "endless").write_bytes(magic * 20)
    for name in ("empty", "cut", "endless", "absent"):
        assert architectures(tmp_path / name) == frozenset(), name
