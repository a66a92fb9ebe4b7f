"""Exact reports of a kernel's accesses: distance from its buffers, and their kind."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.backends.protocol.requests import (
    DYNAMIC_SHARED,
    Beyond,
    Explore,
    Explored,
)
from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.evaluate.reference.baseline import compile_reference
from gi_cuda.runs.tools import open_tools
from gi_cuda.subject import load_subject

TARGET = """
[target]
name = "far"
source = "far.cu"
kernels = ["far"]
[[buffer]]
name = "in"
type = "float32"
role = "input"
size = "1024"
[[buffer]]
name = "out"
type = "float32"
role = "output"
size = "1024"
[[buffer]]
name = "none"
type = "int32"
role = "output"
size = "1"
[[launch]]
kernel = "far"
grid = "8"
block = "128"
shared = "128 * 4"
args = ["in", "out", "none"]
[oracle]
kind = "exact"
[[case]]
name = "one"
role = "train"
[[case]]
name = "two"
role = "held-out"
"""

SOURCE = """
__global__ void far(float *in, float *out, int *none) {
  extern __shared__ float s[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x + 9] = 1;
  out[i > 500 ? i + 3000 : i] = in[2 * i] + in[i - 2000] + s[threadIdx.x + 9];
  if (i == 5) in[i] = 2;
}
"""

DATA = """
import numpy as np


def case():
    return {"in": np.zeros(1024, np.float32)}
"""


def explored(folder: Path) -> Explored:
    for name, text in (("target.toml", TARGET), ("far.cu", SOURCE), ("data.py", DATA)):
        (folder / name).write_text(text)
    subject = load_subject(folder, "host")
    with open_tools(subject, folder / "scratch", workers=1, jobs=1) as tools:
        texts = [subject.reference]
        (binary,) = compile_reference(subject, tools.compiler, texts, folder / "built")
        answer = tools.pool.one(Explore(unmodified(subject).program(binary, ("one",)), 5.0))
    assert isinstance(answer, Explored)
    return answer


def test_accesses_beside_buffers_are_told_to_the_byte(tmp_path: Path) -> None:
    found = explored(tmp_path)
    assert found.beyond == {
        # From the first byte of the access furthest away; elements have four.
        "in": Beyond(8000, 4089, 4089),
        "out": Beyond(0, 11997, 11997),
        DYNAMIC_SHARED: Beyond(0, 33, 33),
    }


def test_what_happens_to_buffers_is_told(tmp_path: Path) -> None:
    found = explored(tmp_path)
    assert found.changed == {"in"}
    assert found.unwritten == {"none"}
    assert found.varying == set()
