"""What ``init`` mends where it tries what it proposes."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.spec import load_target
from tests.command import gi_cuda
from tests.integration.init.proposing import init
from tests.sweeps import broad

PASSES = "it ran on the host back end, and passes"

SMOOTH = """
__global__ void smooth(const float *in, float *out, int width, int first, int last) {
    unsigned int at = blockIdx.x * blockDim.x + threadIdx.x + first * width;
    for (int row = first; row < last; row++) {
        out[at] = 0.5f * in[at] + 0.25f * (in[at - 3 * width] + in[at + 3 * width]);
        at += width;
    }
}

void run(const float *in, float *out, int width, const int *first, const int *last) {
    for (int part = 0; part < 2; part++)
        smooth<<<width / 64, 64>>>(in, out, width, first[part], last[part]);
}
"""

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


SHOW = """
__global__ void show(cudaSurfaceObject_t picture, cudaSurfaceObject_t window, float scale) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float value;
    surf2Dread(&value, picture, x * 4, y, cudaBoundaryModeZero);
    surf2Dwrite((unsigned int)(255.0f * value * scale), window, x * 4, y);
}

void run(cudaSurfaceObject_t picture, cudaSurfaceObject_t window, float scale) {
    show<<<dim3(160 / 8, 120 / 8), dim3(8, 8)>>>(picture, window, scale);
}
"""


@broad
def test_a_kernel_begins_far_enough_from_the_border(tmp_path: Path) -> None:
    (tmp_path / "smooth.cu").write_text(SMOOTH, "utf-8")
    done = gi_cuda("init", "smooth.cu", "-o", "target", cwd=tmp_path)
    assert PASSES in done.stdout, done
    assert '"first": 16 + seed % 2,' in (tmp_path / "target" / "data.py").read_text("utf-8")


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


def test_surfaces_have_room_for_all_threads(tmp_path: Path) -> None:
    (tmp_path / "show.cu").write_text(SHOW, "utf-8")
    done = gi_cuda("init", "show.cu", "-o", "target", cwd=tmp_path)
    assert PASSES in done.stdout, done
    (threads,) = {one.size for one in load_target(tmp_path / "target").surfaces}
    assert [one.text for one in threads] == ["(160 / 8) * 8", "(120 / 8) * 8"]
