"""What ``init`` mends where it tries what it proposes."""

from __future__ import annotations

from pathlib import Path

from tests.command import gi_cuda

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


def test_a_kernel_begins_far_enough_from_the_border(tmp_path: Path) -> None:
    (tmp_path / "smooth.cu").write_text(SMOOTH, "utf-8")
    done = gi_cuda("init", "smooth.cu", "-o", "target", cwd=tmp_path)
    assert PASSES in done.stdout, done
    assert '"first": 16,' in (tmp_path / "target" / "data.py").read_text("utf-8")
