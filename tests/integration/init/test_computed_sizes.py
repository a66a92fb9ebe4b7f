"""Buffers whose size host code computes of what it computes the kernel's sizes of."""

from __future__ import annotations

from pathlib import Path

from tests.integration.init.proposing import init, passes, sizes

SOURCE = """
#include <cuda_runtime.h>
__global__ void dim(float *image, const float *light, int height, int width) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) image[y * width + x] *= light[y * width + x];
}
int main() {
  int width = 640, height = 480, scale = 2;
  int wide = scale * width, high = scale * height;
  float *image, *light;
  cudaMalloc(&image, (width * scale) * (height * scale) * sizeof(float));
  cudaMalloc(&light, (width * scale) * (height * scale) * sizeof(float));
  dim3 block(16, 16), grid(1 + wide / 16, 1 + high / 16);
  dim<<<grid, block>>>(image, light, high, wide);
  return cudaDeviceSynchronize();
}
"""


def test_buffers_follow_sizes_that_are_computed_of_the_same_numbers(tmp_path: Path) -> None:
    """They had as many items in all cases, of which small ones used some in the first rows."""
    source = tmp_path / "dim.cu"
    source.write_text(SOURCE, "utf-8")
    target = init(str(source), tmp_path / "target")
    assert set(sizes(target).values()) == {"height * width"}
    passes(tmp_path / "target", tmp_path / "scratch")


def test_buffers_of_a_kernel_with_rows_of_its_own_length_have_its_size(tmp_path: Path) -> None:
    source = tmp_path / "dim.cu"
    fixed = SOURCE.replace("y * width + x", "y * WIDTH + x")
    source.write_text(f"#define WIDTH 1280\n{fixed}", "utf-8")
    target = init(str(source), tmp_path / "target")
    assert set(sizes(target).values()) == {str(1280 * 960)}
