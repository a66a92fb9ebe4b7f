"""Outputs of all types are judged on the device as the oracle judges them."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import (
    Record,
    Rehearse,
)
from gi_cuda.evaluate.reference.baseline import compile_reference
from gi_cuda.results.measurement import Measurement
from gi_cuda.runs.tools import open_tools
from gi_cuda.subject import load_subject

BACKEND = "cuda"

SOURCE = """\
#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct Pair { int n; float x; };

__global__ void fill(const float *in, float *f, double *d, __half *h, __nv_bfloat16 *b, int *i,
                     unsigned char *c, Pair *p, int n) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= n) return;
  float y = in[at] * 3.0f;
  f[at] = y;
  d[at] = y;
  h[at] = __float2half(y);
  b[at] = __float2bfloat16(y);
  i[at] = (int)(y * 1000.0f);
  c[at] = (unsigned char)(at * 7);
  p[at].n = at;
  p[at].x = y;
}
"""

DATA = """\
import numpy as np

def case(n, seed):
    values = np.random.default_rng(seed).random(n, np.float32) + 1
    values[:3] = np.inf, np.nan, 0
    return {"in": values, "n": n}
"""

TARGET = """\
target = { name = "fill", source = "kernel.cu", kernels = ["fill"], data = "data.py" }
buffer = [
    { name = "in", type = "float32", size = "n", role = "input" },
    { name = "f", type = "float32", size = "n", role = "output" },
    { name = "d", type = "float64", size = "n", role = "output" },
    { name = "h", type = "float16", size = "n", role = "output" },
    { name = "b", type = "bfloat16", size = "n", role = "output" },
    { name = "i", type = "int32", size = "n", role = "output" },
    { name = "c", type = "uint8", size = "n", role = "output" },
    { name = "p", type = "uint8", size = "8 * n", role = "output" },
]
scalar = [{ name = "n", type = "int32" }]
launch = [
    { kernel = "fill", grid = "(n + 127) / 128", block = "128", args = [
        "in", "f", "d", "h", "b", "i", "c", "p", "n",
    ] },
]
oracle = [
    { kind = "tolerance", relative = 1e-2, buffers = ["f", "d", "h", "b"] },
    { kind = "tolerance", absolute = 20, buffers = ["i"] },
    { kind = "exact", buffers = ["c"] },
    { kind = "tolerance", relative = 1e-2, buffers = [
        "p",
    ], item = 8, members = { n = ["int32", 0, 1], x = ["float32", 4, 1] } },
]
case = [
    { name = "train", role = "train", args = { n = 5003, seed = 1 } },
    { name = "held-out", role = "held-out", args = { n = 4001, seed = 2 } },
]
"""

LAST = "  p[at].x = y;\n"

NEAR = SOURCE.replace("3.0f", "3.003f")

WRONG = {
    "f[777] is ": "  if (at == 777) f[at] = 0.0f;\n",
    "f[0] is ": "  if (at == 0) f[at] = 1e30f;\n",
    "f[1] is ": "  if (at == 1) f[at] = 0.0f;\n",
    "f[5002] is nan": "  if (at == 5002) f[at] = 0.0f / (y - y);\n",
    "f[2] is ": "  if (at == 2) f[at] = 1e-30f;\n",
    "d[4] is ": "  if (at == 4) d[at] = -y;\n",
    "h[5001] is ": "  if (at == 5001) h[at] = __float2half(2.0f * y);\n",
    "b[6] is nan": "  if (at == 6) b[at] = __float2bfloat16(0.0f / (y - y));\n",
    "i[7] is ": "  if (at == 7) i[at] += 21;\n",
    "c[8] is ": "  if (at == 8) c[at] += 1;\n",
    "p.n[9] is ": "  if (at == 9) p[at].n = 10;\n",
    "p.x[5002] is ": "  if (at == 5002) p[at].x = y + 1.0f;\n",
}


def test_a_variant_is_told_wrong_by_the_value_that_is(tmp_path: Path) -> None:
    folder = tmp_path / "fill"
    folder.mkdir()
    for name, text in (("kernel.cu", SOURCE), ("data.py", DATA), ("target.toml", TARGET)):
        (folder / name).write_text(text)
    subject = load_subject(folder, BACKEND)
    wrong = [SOURCE.replace(LAST, LAST + more) for more in WRONG.values()]
    texts = [SOURCE, SOURCE, NEAR, *wrong]
    with open_tools(subject, tmp_path / "run", workers=1, jobs=4) as tools:
        binaries = compile_reference(subject, tools.compiler, texts, tools.scratch("all"))
        reference, *variants = (Program(one, {}, ("train",)) for one in binaries)
        tools.pool.one(Record(reference, tools.reference, 2, 10.0))
        asked = Rehearse(tuple(variants), Sampling(limit=10.0).untimed())
        same, near, *others = tools.pool.one(asked)
    for one in (same, near, *others):
        assert isinstance(one, Measurement)
    assert (same.correct, same.message) == (True, "")
    assert (near.correct, near.message) == (True, "")
    for one, said in zip(others, WRONG, strict=True):
        assert not one.correct
        assert one.penalty == 1
        assert one.message.startswith(f"train: {said}"), one.message
        assert "(1 of " in one.message
