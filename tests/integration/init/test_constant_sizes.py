"""Buffers of constant size: no size is raised beyond them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.spec import Target, load_target
from tests.command import gi_cuda
from tests.integration.init.proposing import init
from tests.sweeps import broad

SOURCE = """
#include <cuda_runtime.h>
#define LENGTH 1 << LOG
#define LOG 12
struct Columns {
  float x[LENGTH], y[LENGTH];
};
__global__ void shift(const Columns *in, Columns *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out->x[i] = in->x[i] + 10.f;
    out->y[i] = in->y[i] + 20.f;
  }
}
int main() {
  int items = LENGTH;
  size_t bytes = sizeof(Columns);
  Columns *in, *out;
  cudaMalloc((Columns **)&in, bytes);
  cudaMalloc((Columns **)&out, bytes);
  dim3 block(128), grid((items + block.x - 1) / block.x, 1);
  shift<<<grid, block>>>(in, out, items);
  return cudaDeviceSynchronize();
}
"""


SIZES = [(12, 4096), (14, 10007)]


def has_one_struct_of_arrays(target: Target, bits: int, train: int) -> None:
    """Check how large its buffers are, and that its items lie in them."""
    sizes = {one.size.evaluate({}) for one in target.buffers if one.size is not None}
    assert sizes == {2 << bits}
    numbers = {case.name: case.args["n"] for case in target.cases}
    assert numbers["train"] == train
    assert max(numbers.values()) == 1 << bits


@broad
@pytest.mark.parametrize(("bits", "train"), SIZES)
def test_a_struct_of_arrays_is_one_and_its_items_lie_in_it(
    bits: int, train: int, tmp_path: Path
) -> None:
    """More items than the arrays have would make threads write into the next array."""
    source = tmp_path / "columns.cu"
    source.write_text(SOURCE.replace("LOG 12", f"LOG {bits}"))
    has_one_struct_of_arrays(init(str(source), tmp_path / "target"), bits, train)


@broad
@pytest.mark.parametrize(("bits", "train"), SIZES)
def test_a_struct_of_arrays_passes(bits: int, train: int, tmp_path: Path) -> None:
    source = tmp_path / "columns.cu"
    source.write_text(SOURCE.replace("LOG 12", f"LOG {bits}"))
    said = gi_cuda("init", source, "-o", tmp_path / "target")
    assert said.returncode == 0, said.stdout
    has_one_struct_of_arrays(load_target(tmp_path / "target"), bits, train)
    assert gi_cuda("check", tmp_path / "target").returncode == 0


def test_a_block_has_as_many_threads_as_in_the_host_code(tmp_path: Path) -> None:
    source = tmp_path / "turn.cu"
    source.write_text("""
__global__ void turn(int *a, int length) {
  __shared__ int kept[96];
  kept[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[threadIdx.x] = kept[length - 1 - threadIdx.x];
}
int main() {
  const int items = 96;
  int *a;
  cudaMalloc(&a, items * sizeof(int));
  turn<<<1, items>>>(a, items);
}
""")
    cases = init(str(source), tmp_path / "target").cases
    assert {case.args["length"] for case in cases} == {96}
