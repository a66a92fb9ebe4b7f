"""Explanations of gains on the train cases that are lost on the held-out ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.analyze.finalists.shortfall import padding_words, threads_launched
from gi_cuda.subject import load_subject

KERNEL = """#define B 16
__global__ void f(float *x, int n) {
    int i = blockIdx.x * B + threadIdx.x, j = blockIdx.y * B + threadIdx.y;
    if (i < n && j < n)
        x[j * n + i] = 1;
}
"""
DATA = "def case(n):\n    return {'n': n}\n"
TARGET = """
target = { name = "f", source = "f.cu", kernels = ["f"] }
parameter = [{ name = "B", values = [8, 16], default = 16 }]
buffer = [{ name = "x", type = "float32", size = "n * n", role = "output" }]
scalar = [{ name = "n", type = "int32" }]
oracle = { kind = "exact" }
case = [
    { name = "train", role = "train", args = { n = 39 } },
    { name = "held-out", role = "held-out", args = { n = 30 } },
    { name = "held-out-2", role = "held-out", args = { n = 28 } },
]

[[launch]]
kernel = "f"
grid = ["(n + B - 1) / B", "(n + B - 1) / B"]
block = ["B", "B"]
args = ["x", "n"]
"""


def test_a_block_that_pads_less_on_the_train_cases_alone(tmp_path: Path) -> None:
    for name, text in (("f.cu", KERNEL), ("data.py", DATA), ("target.toml", TARGET)):
        (tmp_path / name).write_text(text)
    subject = load_subject(tmp_path, "host")
    launched = threads_launched(subject, subject.read("B=8"))
    assert launched == pytest.approx(((40 / 48) ** 2, 1.0))
    assert "0.69 times as many threads as the original" in padding_words(*launched)
    assert "remainders" not in padding_words(*threads_launched(subject, subject.original))
