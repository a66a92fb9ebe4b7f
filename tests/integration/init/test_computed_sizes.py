"""Buffers whose sizes host code computes from the same values as the kernel's sizes."""

from __future__ import annotations

from pathlib import Path

from tests.integration.init.proposing import init, sizes

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


def test_buffers_of_a_kernel_with_rows_of_its_own_length_have_its_size(tmp_path: Path) -> None:
    source = tmp_path / "dim.cu"
    fixed = SOURCE.replace("y * width + x", "y * WIDTH + x")
    source.write_text(f"#define WIDTH 1280\n{fixed}", "utf-8")
    target = init(str(source), tmp_path / "target")
    assert set(sizes(target).values()) == {str(1280 * 960)}


POOL = """
__global__ void pool(float *out, const float *in, int total, int oh, int ow, int h, int w,
                     int window, int step, int pad) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= total) return;
  int y = i / ow % oh * step - pad, x = i % ow * step - pad;
  float most = -1;
  for (int a = max(y, 0); a < min(y + window, h); a++)
    for (int b = 0; b < window; b++)
      if (x + b >= 0 && x + b < w) most = fmaxf(most, in[a * w + x + b]);
  out[i] = most;
}
void run(float *in, float *out, int h, int w, int window, int step, int pad) {
  int oh = (h + 2 * pad - window) / step + 1;
  int ow = (w + 2 * pad - window) / step + 1;
  int total = oh * ow;
  pool<<<(total + 127) / 128, 128>>>(out, in, total, oh, ow, h, w, window, step, pad);
}
"""


def test_sizes_follow_windows_and_those_that_come_behind_them(tmp_path: Path) -> None:
    source = tmp_path / "pool.cu"
    source.write_text(POOL, "utf-8")
    target = init(str(source), tmp_path / "target")
    assert {*target.cases[0].args} == {"seed", "h", "w"}
    computed = {one.name: one.value for one in target.scalars if one.value is not None}
    assert {*computed} == {"oh", "ow", "total"}
    given = {"h": 30, "w": 20, "window": 3, "step": 2, "pad": 1}
    found = {name: value.evaluate(given) for name, value in computed.items()}
    assert found == {"oh": 15, "ow": 10, "total": 150}
