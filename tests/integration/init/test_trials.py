"""Fixes by ``init`` when it tries its proposal."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.spec import load_target
from tests.command import gi_cuda
from tests.integration.init.proposing import init
from tests.sweeps import broad

PASSES = "it ran on the host back end, and passes"


ELIMINATE = """
#define SIZE 512
#define TILE 16
__global__ void eliminate(float *a, int n, int pivot) {
    int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    if (row > pivot && row < n && column > pivot && column < n)
        a[row * SIZE + column] -= a[row * SIZE + pivot] * a[pivot * SIZE + column];
}

void run(int n) {
    float *a;
    cudaMalloc(&a, SIZE * SIZE * sizeof(float));
    for (int pivot = 0; pivot < SIZE; pivot++) {
        dim3 grid((SIZE - pivot + TILE - 1) / TILE, (SIZE - pivot + TILE - 1) / TILE);
        eliminate<<<grid, dim3(TILE, TILE)>>>(a, n, pivot);
    }
}
"""


def test_the_round_of_a_loop_is_not_how_much_there_is(tmp_path: Path) -> None:
    (tmp_path / "eliminate.cu").write_text(ELIMINATE, "utf-8")
    cases = init(str(tmp_path / "eliminate.cu"), tmp_path / "target").cases
    assert {case.args["pivot"] for case in cases} == {1}
    assert all(case.args["n"] > 1 for case in cases)


@broad
def test_a_kernel_of_one_round_of_a_loop_passes(tmp_path: Path) -> None:
    (tmp_path / "eliminate.cu").write_text(ELIMINATE, "utf-8")
    done = gi_cuda("init", "eliminate.cu", "-o", "target", cwd=tmp_path)
    assert PASSES in done.stdout, done
    cases = load_target(tmp_path / "target").cases
    assert {case.args["pivot"] for case in cases} == {1}
    assert all(case.args["n"] > 1 for case in cases)
