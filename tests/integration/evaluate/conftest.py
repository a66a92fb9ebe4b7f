"""Small targets with a given source and parameters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gi_cuda.subject import Subject, load_subject

BODY = """
__global__ void fill(const float *in, float *out, int n)
{
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n)
        out[at] = in[at] * TIMES;
}
"""

TARGET = """\
[target]
name = "fill"
source = "kernel.cu"
kernels = ["fill"]
{more}
[[buffer]]
name = "in"
type = "float32"
size = "n"
role = "input"

[[buffer]]
name = "out"
type = "float32"
size = "n"
role = "output"

[[scalar]]
name = "n"
type = "int32"

[[launch]]
kernel = "fill"
grid = ["(n + 63) / 64"]
block = ["{block}"]
args = ["in", "out", "n"]

[oracle]
kind = "exact"

[[case]]
name = "train"
role = "train"
args = {{ n = 500 }}

[[case]]
name = "held-out"
role = "held-out"
args = {{ n = 77 }}
"""

DATA = """\
import numpy as np

def case(n):
    return {"in": np.arange(n, dtype=np.float32), "n": n}
"""

Make = Callable[..., Subject]


def parameter(name: str, values: str, default: object, kind: str = "macro") -> str:
    listed = "" if kind == "flag" else f"values = {values}\n"
    return f'\n[[parameter]]\nname = "{name}"\nkind = "{kind}"\n{listed}default = {default}\n'


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return a function that makes a target in ``tmp_path``, given the head of its source and
    parameters.
    """

    def write(head: str, *more: str, block: str = "64", body: str = BODY) -> Subject:
        (tmp_path / "kernel.cu").write_text(f"{head}\n{body}")
        (tmp_path / "data.py").write_text(DATA)
        text = TARGET.format(more="".join(more), block=block)
        (tmp_path / "target.toml").write_text(text)
        return load_subject(tmp_path, "host")

    return write
