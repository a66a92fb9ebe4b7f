"""Kernels that synchronize the grid, launched so that all blocks run at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command import gi_cuda

SOURCE = """
#include <cooperative_groups.h>
__global__ void turn(const float *a, float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = 2 * a[i];
  cooperative_groups::this_grid().sync();
  float other = i < n ? b[n - 1 - i] : 0;
  cooperative_groups::this_grid().sync();
  if (i < n) b[i] += other;
}
"""

DATA = """
import numpy as np
def case(seed, n):
    return {"a": np.random.default_rng(seed).random(n, dtype=np.float32), "n": n}
"""

TARGET = """
[target]
name = "turn"
source = "turn.cu"
kernels = ["turn"]
data = "data.py"

[[buffer]]
name = "a"
type = "float32"
size = "n"
role = "input"

[[buffer]]
name = "b"
type = "float32"
size = "n"
role = "output"

[[scalar]]
name = "n"
type = "int32"

[[launch]]
kernel = "turn"
grid = "(n + 127) / 128"
block = "128"
args = ["a", "b", "n"]
cooperative = true

[oracle]
kind = "exact"

[[case]]
name = "train"
role = "train"
args = { seed = 1, n = SIZE }

[[case]]
name = "held-out"
role = "held-out"
args = { seed = 2, n = 5000 }
"""


@pytest.fixture
def target(tmp_path: Path) -> Path:
    (tmp_path / "turn.cu").write_text(SOURCE)
    (tmp_path / "data.py").write_text(DATA)
    return tmp_path


def written(target: Path, size: int) -> str:
    (target / "target.toml").write_text(TARGET.replace("SIZE", str(size)))
    return str(target)


def test_a_grid_that_fits_runs_to_its_end(target: Path) -> None:
    done = gi_cuda("check", written(target, 20000), "--backend", "cuda", cwd=target)
    assert done.returncode == 0, done.stdout + done.stderr


def test_variants_of_it_are_searched(target: Path) -> None:
    words = (
        "--backend",
        "cuda",
        "--preset",
        "barracuda",
        "--population",
        "16",
        "--generations",
        "1",
    )
    done = gi_cuda("evolve", written(target, 20000), *words, "--run", "run", cwd=target)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_grid_that_does_not_fit_is_refused(target: Path) -> None:
    done = gi_cuda("check", written(target, 1 << 24), "--backend", "cuda", cwd=target)
    assert done.returncode == 2
    assert "its blocks have to run at a time" in done.stdout + done.stderr
