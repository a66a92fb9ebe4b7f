"""Kernels that use values they read as indices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gi_cuda.init import files, from_options, propose
from gi_cuda.trial import Attempts, Outcome, mended
from gi_cuda.trial.mending.ungrown import with_buffers_as_they_were

GATHER = """
__global__ void gather(int n, const int *first, const int *from, const float *x, float *y) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float sum = 0;
  for (int i = first[row]; i < first[row + 1]; i++) sum += x[from[i]];
  y[row] = sum;
}
int main() {
  int n = 4000, all = count_them();
  int *first, *from; float *x, *y;
  cudaMalloc(&first, (n + 1) * sizeof(int));
  cudaMalloc(&from, all * sizeof(int));
  cudaMalloc(&x, n * sizeof(float));
  cudaMalloc(&y, n * sizeof(float));
  gather<<<(n + 127) / 128, 128>>>(n, first, from, x, y);
}
"""


def test_an_index_that_was_read_past_an_end_says_nothing_of_another_buffer(
    trial: Callable[[str], Outcome],
) -> None:
    outcome = trial(GATHER)
    assert outcome.passes
    assert any("from grown" in said for said in outcome.done)
    assert not [buffer.name for buffer in outcome.proposal.buffers if buffer.begin]
    # Places are those of all items.
    (places,) = (one for one in outcome.proposal.buffers if one.name == "from")
    assert places.into == "x"
    assert places.fill is None


SCATTER = """
__global__ void scatter(const int *to, const float *in, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[to[i]] = in[i] * 2.0f;
}
int main() {
  int n = 4000;
  int *to;
  float *in, *out;
  cudaMalloc(&to, n * sizeof(int));
  cudaMalloc(&in, n * sizeof(float));
  cudaMalloc(&out, n * sizeof(float));
  scatter<<<(n + 127) / 128, 128>>>(to, in, out, n);
}
"""


def test_places_are_all_over_what_is_assigned_to(
    trial: Callable[[str], Outcome], tmp_path: Path
) -> None:
    outcome = trial(SCATTER)
    assert outcome.passes
    made = files(outcome.proposal, tmp_path)["data.py"]
    assert '"to": rng.integers(0, n, n, dtype=np.int32)' in made


NEIGHBOURS = """
__global__ void sums(const float *a, float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i - 2048] + a[i / 64 * 64 + 63];
}
int main() {
  int n = 4000;
  float *a, *b;
  cudaMalloc(&a, n * sizeof(float));
  cudaMalloc(&b, n * sizeof(float));
  sums<<<(n + 127) / 128, 128>>>(a + 2048, b, n);
}
"""


def test_what_lies_in_front_for_its_neighbours_stays(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(NEIGHBOURS)
    attempts = Attempts(tmp_path, 1, None)
    found = mended(propose(source, None, from_options((), ())), attempts.attempt, 60)
    assert {one.name: bool(one.begin) for one in found.proposal.buffers} == {"a": True, "b": False}
    assert any(one.grown for one in found.proposal.buffers)
    ended = with_buffers_as_they_were(found, attempts.attempt, lambda _: None)
    assert ended.passes
    assert [one.begin for one in ended.proposal.buffers] == [
        one.begin for one in found.proposal.buffers
    ]
