"""Samples of blocks of a large launch run on a processor, also for rewrites with more blocks."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from gi_cuda.evaluate.candidates import candidate
from gi_cuda.evaluate.scrutiny.processor_watch import ProcessorWatch
from gi_cuda.spec import CaseRole
from gi_cuda.subject import load_subject

SUM = """__global__ void sum(const int *in, int *out, int n) {
    int part = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        part += in[i];
    atomicAdd(out, part);
}
"""

SUM_TARGET = """[target]
name = "sum"
description = "adds all"
source = "kernel.cu"
kernels = ["sum"]
data = "data.py"
[[buffer]]
name = "in"
type = "int32"
size = "n"
role = "input"
[[buffer]]
name = "out"
type = "int32"
size = 1
role = "inout"
[[scalar]]
name = "n"
type = "int32"
[[launch]]
kernel = "sum"
grid = ["4"]
block = ["64"]
args = ["in", "out", "n"]
[oracle]
kind = "exact"
[[case]]
name = "one"
role = "train"
args = { n = 1000 }
[[case]]
name = "other"
role = "held-out"
args = { n = 1001 }
"""

SUM_DATA = """import numpy as np
def case(n):
    return {"in": np.arange(n, dtype=np.int32), "out": np.zeros(1, np.int32), "n": n}
"""


@pytest.mark.usefixtures("toolkit")
def test_where_a_sample_has_all_blocks_of_the_reference_those_of_others_run_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variant with four times the blocks adds a quarter of the items if only 256 threads run."""
    monkeypatch.setattr("gi_cuda.evaluate.scrutiny.processor_watch.SAMPLES", (256,))
    for name, text in (("kernel.cu", SUM), ("target.toml", SUM_TARGET), ("data.py", SUM_DATA)):
        (tmp_path / name).write_text(text)
    subject = load_subject(tmp_path, "cuda", edits="all")
    with ExitStack() as opened:
        elsewhere = ProcessorWatch(subject, tmp_path / "second", 2, CaseRole.TRAIN, 10.0, opened)
        more = candidate(subject, subject.read("<grid_kernel.cu_1><grid_K4>"))
        assert elsewhere.unset([more]) == [""]
        unset = replace(more, text=more.text.replace("int part = 0", "int part"))
        assert "it reads part, which it does not always set" in elsewhere.unset([unset])[0]
