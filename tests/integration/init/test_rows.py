"""What is found in rows, where no host code tells how long these are."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gi_cuda.spec import load_case, load_target
from tests.integration.init.proposing import passes, said, sizes

LABELS = """__global__ void losses(float *loss, const float *logits, const int *labels,
                       int B, int V) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= B) return;
  int label = labels[i];
  loss[i] = -logf(logits[i * V + label]);
}
"""

SPREAD = """__global__ void dense(float *out, const int *from, const int *column, const float *v,
                      int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  for (int j = from[r]; j < from[r + 1]; ++j) out[r * cols + column[j]] = v[j];
}
"""


def test_labels_are_columns_of_a_row(tmp_path: Path) -> None:
    source = tmp_path / "losses.cu"
    source.write_text(LABELS)
    said(source, tmp_path / "t")
    target = load_target(tmp_path / "t")
    assert sizes(target)["logits"] == "B * V"
    for case in (one for one in target.cases if "host" in one.backends):
        data = load_case(target, case)
        labels, long = data.buffers["labels"], data.scalars["V"]
        assert set(np.unique(labels)) == set(range(int(long)))
    passes(tmp_path / "t", tmp_path)


def test_columns_of_a_row_that_is_written_differ(tmp_path: Path) -> None:
    source = tmp_path / "dense.cu"
    source.write_text(SPREAD)
    said(source, tmp_path / "t")
    target = load_target(tmp_path / "t")
    for case in (one for one in target.cases if "host" in one.backends):
        data = load_case(target, case)
        column, wide = data.buffers["column"], int(data.scalars["cols"])
        assert all(len(set(column[at : at + wide])) == wide for at in range(0, 3 * wide, 7))
    passes(tmp_path / "t", tmp_path)
