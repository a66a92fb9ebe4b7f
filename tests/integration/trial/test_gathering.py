"""Kernels that read at indices which they have read."""

from __future__ import annotations

from collections.abc import Callable

from gi_cuda.trial import Outcome

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


def test_places_are_those_of_all_items(trial: Callable[[str], Outcome]) -> None:
    (places,) = (one for one in trial(GATHER).proposal.buffers if one.name == "from")
    assert places.into == "x"
    assert places.fill is None
