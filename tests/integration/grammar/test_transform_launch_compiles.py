"""Rewritten launches compile: all spellings with nvcc, before and after, in one file."""

from __future__ import annotations

import subprocess
from pathlib import Path

from gi_cuda.backends.cuda.toolkit import Toolkit
from tests.unit.grammar.launch_variables import SPELLINGS


def test_all_spellings_compile_with_nvcc(toolkit: Toolkit, tmp_path: Path) -> None:
    texts = ["#include <cmath>\n"]
    for number, one in enumerate(SPELLINGS):
        for when, text in (("before", one.before), ("after", one.after)):
            texts.append(f"namespace {when}{number} {{ // {one}\n{one.kernels}{text}}}\n")
    path = tmp_path / "launches.cu"
    path.write_text("".join(texts))
    command = [str(toolkit.nvcc), "-arch=sm_90", "-std=c++17", "-Werror=all-warnings", "-Xcudafe"]
    command += ["--diag_suppress=177", "-c", "-o", "launches.o", path.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
