"""Launches of which no host code tells: as many threads as the kernel has items for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.init.proposing import init, passes

FOLDED = """
__global__ void fold(int n, const float *in, int height, int width, float *out) {
  int i = NUMBER;
  if (i >= n) return;
  float sum = 0;
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) sum += in[(i * height + y) * width + x];
  out[i] = sum;
}
"""
ALONG_X = "blockIdx.x * blockDim.x + threadIdx.x"
BEYOND = "(blockIdx.x + blockIdx.y * gridDim.x) * blockDim.x + threadIdx.x"


@pytest.mark.parametrize("number", [ALONG_X, BEYOND])
def test_there_is_a_thread_for_each_item_that_threads_are_compared_with(
    number: str, tmp_path: Path
) -> None:
    """With one for each item of the image most would return at once."""
    source = tmp_path / "fold.cu"
    source.write_text(FOLDED.replace("NUMBER", number), "utf-8")
    (launch,) = init(str(source), tmp_path / "target").launches[0].steps
    assert [one.text for one in launch.grid] == ["(n + 128 - 1) / 128"]
    assert [one.text for one in launch.block] == ["128"]
    if number == BEYOND:
        passes(tmp_path / "target", tmp_path / "scratch")


def test_there_is_one_for_each_of_all_where_they_are_compared_with_several(tmp_path: Path) -> None:
    source = tmp_path / "fold.cu"
    both = FOLDED.replace("NUMBER", ALONG_X).replace("i >= n", "i >= n * height")
    source.write_text(both, "utf-8")
    (launch,) = init(str(source), tmp_path / "target").launches[0].steps
    assert "n * " in launch.grid[0].text


THROUGH = """
#include <algorithm>
#include <cmath>
inline int threads_for(int n) {
  const int power = std::log(static_cast<double>(n)) / std::log(2.0);
  return std::max(std::min(1 << power, 512), 1);
}
__global__ void halve(int b, int n, const float *in, float *out) {
  int row = blockIdx.x, first = threadIdx.x;
  int stride = blockDim.x;
  for (int i = START; i < n; i += STEP) out[row * n + i] = in[row * n + i] / 2;
}
void run(int b, int n, const float *in, float *out) {
  halve<<<dim3(b, 2, 1), threads_for(n), 0>>>(b, n, in, out);
}
"""


@pytest.mark.parametrize(
    ("start", "step", "known"),
    [
        ("threadIdx.x", "blockDim.x", True),
        ("first", "stride", True),
        ("blockIdx.y * blockDim.x + threadIdx.x", "n", False),
    ],
)
def test_blocks_are_as_many_as_host_code_says_where_any_block_would_do(
    start: str, step: str, known: bool, tmp_path: Path
) -> None:
    source = tmp_path / "halve.cu"
    source.write_text(THROUGH.replace("START", start).replace("STEP", step), "utf-8")
    (launch,) = init(str(source), tmp_path / "target").launches[0].steps
    assert ([one.text for one in launch.grid] == ["b", "2", "1"]) is known
    said = (tmp_path / "target" / "target.toml").read_text("utf-8")
    assert ('assumed: block = ["128"]' in said) is known


FRAMES = """
typedef long long Count;
__global__ void shift(int per_frame, int n, const float *in, float *out) {
  for (int i = threadIdx.x; i < n; i += 64) out[blockIdx.x * n + i] = in[blockIdx.x * n + i] + 1;
}
void run(int frames, int per_frame, int n, const float *in, float *out) {
  const Count rows = ROWS;
  shift<<<rows, 64>>>(per_frame, n, in, out);
}
"""


@pytest.mark.parametrize(
    ("rows", "grid"),
    [
        ("Count(per_frame)", "per_frame"),
        ("Count(frames) * per_frame", "2 * per_frame"),
        ("(Count(per_frame) + frames - 1) / frames", "per_frame"),
    ],
)
def test_there_are_some_of_what_nobody_tells(rows: str, grid: str, tmp_path: Path) -> None:
    """Where that is a factor of the blocks: of what it divides there would be any number."""
    source = tmp_path / "shift.cu"
    source.write_text(FRAMES.replace("ROWS", rows), "utf-8")
    target = init(str(source), tmp_path / "target")
    assert [one.text for one in target.launches[0].steps[0].grid] == [grid]
    said = (tmp_path / "target" / "target.toml").read_text("utf-8")
    assert ("assumed: frames = 2" in said) is grid.startswith("2")
    # What there are blocks of is how much data there is.
    assert "per_frame = " in said or "per_frame" not in grid
