"""Launches without host code: a thread for each item."""

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
    """One thread for each item of the image would be too many: most would return at once."""
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


def test_indices_of_cooperative_groups_say_the_shape_of_a_block(tmp_path: Path) -> None:
    source = tmp_path / "shade.cu"
    source.write_text(
        "#include <cooperative_groups.h>\n#define SIDE 8\n"
        "__global__ void shade(const float *in, float *out, int width, int height) {\n"
        "  auto block = cooperative_groups::this_thread_block();\n"
        "  int x = block.group_index().x * SIDE + block.thread_index().x;\n"
        "  int y = block.group_index().y * SIDE + block.thread_index().y;\n"
        "  if (x < width && y < height) out[y * width + x] = in[y * width + x] * 2;\n}\n",
        "utf-8",
    )
    (launch,) = init(str(source), tmp_path / "target").launches[0].steps
    assert [one.text for one in launch.block] == ["8", "8"]
    assert len(launch.grid) == 2
