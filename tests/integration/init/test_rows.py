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


NEIGHBOURS = """__global__ void forces(int atoms, int last, const int *number, const int *list,
                       const float *x, float *f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < last) {
    int many = number[i];
    float sum = 0;
    for (int k = 0; k < many; ++k) {
      int at = k * atoms + i, j = list[at];
      sum += x[j] - x[i];
    }
    f[i] = sum;
  }
}
"""


def test_each_has_as_many_rows_as_an_array_says(tmp_path: Path) -> None:
    source = tmp_path / "forces.cu"
    source.write_text(NEIGHBOURS)
    said(source, tmp_path / "t")
    target = load_target(tmp_path / "t")
    assert sizes(target)["list"] == "atoms * 8"
    assert sizes(target)["x"] == "atoms"
    for case in (one for one in target.cases if "host" in one.backends):
        data = load_case(target, case)
        assert set(np.unique(data.buffers["number"])) == set(range(9))
        assert data.buffers["list"].max() > int(data.scalars["atoms"]) // 2
        places = np.arange(data.buffers["list"].size) % int(data.scalars["atoms"])
        assert not np.any(data.buffers["list"] == places)
    (last,) = (one for one in target.scalars if one.name == "last")
    assert last.value is not None
    assert last.value.text == "atoms"
    passes(tmp_path / "t", tmp_path)


FILLED = """#define MOST 6
__global__ void gather(int rows, int most, const int *many, const int *column, const float *v,
                       const float *x, const int *few, float *y) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = x[r];
  for (int k = 0; k < many[r]; ++k) sum += v[r * most + k] / (x[column[r * most + k]] - x[r]);
  for (int k = 0; k < few[r]; ++k) sum += v[r * MOST + k];
  y[r] = sum;
}
"""


def test_each_has_as_much_of_its_row_as_an_array_says(tmp_path: Path) -> None:
    """Of rows that end before what they are said to hold, the next one's would be read."""
    source = tmp_path / "gather.cu"
    source.write_text(FILLED)
    said(source, tmp_path / "t")
    target = load_target(tmp_path / "t")
    for case in (one for one in target.cases if "host" in one.backends):
        data = load_case(target, case)
        assert set(np.unique(data.buffers["many"])) == set(range(9))
        most = int(data.scalars["most"])
        assert most >= 8
        column = data.buffers["column"]
        assert not np.any(column == np.arange(column.size) // most)
        assert set(np.unique(data.buffers["few"])) == set(range(7))
    passes(tmp_path / "t", tmp_path)


SPREAD_OUT = """__global__ void pulls(int atoms, int most, const int *list, const float *x,
                      float *f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= atoms) return;
  float sum = 0;
  for (int k = 0; k < most; ++k) {
    int j = list[k * atoms + i];
    float dx = x[3 * j] - x[3 * i], dy = x[3 * j + 1] - x[3 * i + 1];
    sum += dx / (dx * dx + dy * dy);
  }
  f[i] = sum;
}
"""


def test_neighbours_are_others_where_several_numbers_say_where_one_is(tmp_path: Path) -> None:
    source = tmp_path / "pulls.cu"
    source.write_text(SPREAD_OUT)
    said(source, tmp_path / "t")
    target = load_target(tmp_path / "t")
    for case in (one for one in target.cases if "host" in one.backends):
        data = load_case(target, case)
        listed, last = data.buffers["list"], data.buffers["x"].size // 3 - 1
        assert last // 2 < listed.max() <= last
        assert not np.any(listed == np.arange(listed.size) % int(data.scalars["atoms"]))
    passes(tmp_path / "t", tmp_path)
