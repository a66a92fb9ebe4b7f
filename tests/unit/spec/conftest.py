"""A complete target in a temporary folder, to be spoilt by the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

KERNELS = """\
__global__ void smooth() {}
__global__ void __launch_bounds__(64) scale() {}
"""

TARGET = """\
# A stencil, repeated with swapped buffers, then scaled.
[target]
name = "smooth"
description = "a stencil"
source = "kernel.cu"
kernels = ["smooth", "scale"]

[build]
include = ["."]
define = { VERSION = 3 }
cuda = ["-O3"]

[[parameter]]
name = "BLOCK_W"
values = {from = 32, to = 128, step = 32}
default = 64

[[parameter]]
name = "CACHE"
kind = "flag"
default = false

[[parameter]]
name = "REAL"
values = ["float", "double"]
default = "float"

[[parameter]]
name = "REGS"
kind = "option"
text = "-maxrregcount={}"
values = ["", 32, 64]
default = ""
backends = ["cuda"]

[[parameter]]
name = "FAST"
kind = "option"
text = "--use_fast_math"
default = 0

[[constraint]]
that = "CACHE == 0 || BLOCK_W <= 64"
why = "the cache holds 64"

[[scalar]]
name = "n"
type = "int32"

[[scalar]]
name = "gain"
type = "float32"

[[scalar]]
name = "steps"
type = "int32"

[[scalar]]
name = "blocks"
type = "int32"
value = "(n + BLOCK_W - 1) / BLOCK_W"

[[buffer]]
name = "a"
type = "float32"
size = "n"
role = "inout"

[[buffer]]
name = "b"
type = "float32"
size = "n"
role = "scratch"

[[buffer]]
name = "table"
type = "float32"
role = "input"
symbol = "c_table"

[[launch]]
repeat = "steps"
swap = [["a", "b"]]
counter = "round"

  [[launch.step]]
  kernel = "smooth"
  grid = ["blocks"]
  block = "BLOCK_W"
  shared = "BLOCK_W * sizeof(float)"
  args = ["a", "b", "n", "round"]

[[launch]]
kernel = "scale"
grid = "blocks"
block = ["BLOCK_W", 2]
args = ["a", "n", "gain"]

[oracle]
kind = "tolerance"
absolute = 1e-6
relative = 1e-5

[[case]]
name = "small"
role = "train"
args = { seed = 1, n = 1000 }

[[case]]
name = "other"
role = "held-out"
args = { seed = 2, n = 777, steps = 4 }

[timing]
cache = "flushed"
"""

DATA = """\
import numpy as np


def case(seed, n, steps=3):
    random = np.random.default_rng(seed)
    return {
        "a": random.random(n, dtype=np.float32),
        "table": np.ones(4, np.float32),
        "n": n,
        "gain": 1.5,
        "steps": steps,
    }
"""

Write = Callable[..., Path]


def line(text: str) -> int:
    """Return the line of the unchanged target that first has `text`."""
    return TARGET[: TARGET.index(text)].count("\n") + 1


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes the target with replaced texts (old, new), and returns its
    folder.
    """

    def write(*changes: tuple[str, str], data: str = DATA) -> Path:
        text = TARGET
        for old, new in changes:
            assert text.count(old) >= 1, old
            text = text.replace(old, new, 1)
        (tmp_path / "target.toml").write_text(text)
        (tmp_path / "data.py").write_text(data)
        (tmp_path / "kernel.cu").write_text(KERNELS)
        return tmp_path

    return write
