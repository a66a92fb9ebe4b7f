"""Measure the transformations that give a thread several items: `jam`, `merge` and `coarsen`.

    python -m benchmarks.items

Seven small kernels, with shared loops, barriers or repeated work as in most code, are compiled
unchanged and with each choice of these families, launched with as many threads as the work takes,
and timed: medians of ten launches. All answers have to be the original's, bit for bit. Needs nvcc
and a GPU.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.backends.cuda.toolkit import find_toolkit
from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.mapping.coarsen import Coarsen
from gi_cuda.grammar.frontends.cuda.transforms.mapping.jam import Jam
from gi_cuda.grammar.frontends.cuda.transforms.mapping.merge import Merge
from gi_cuda.grammar.splice import spliced
from gi_cuda.spec.launching.shape import Shape

_HEAD = "__global__ void k(const float *a, const float *b, float *c, int w, int h, int m) {\n"
_ONE = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= w) return;\n"
_TWO = """\
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float sum = 0;
"""


_TILED_PRODUCT = """\
    __shared__ float left[16][16], right[16][16];
    int tx = threadIdx.x, ty = threadIdx.y;
    int x = blockIdx.x * 16 + tx, y = blockIdx.y * 16 + ty;
    float sum = 0;
    for (int j = 0; j < m; j += 16) {
        left[ty][tx] = a[y * m + j + tx];
        right[ty][tx] = b[(j + ty) * w + x];
        __syncthreads();
        for (int t = 0; t < 16; t++) sum += left[ty][t] * right[t][tx];
        __syncthreads();
    }
    c[y * w + x] = sum;
"""
_TILED_STENCIL = """\
    __shared__ float tile[8 + 6][32 + 6];
    int x = blockIdx.x * 32, y = blockIdx.y * 8;
    for (int j = threadIdx.y; j < 8 + 6; j += 8)
        for (int i = threadIdx.x; i < 32 + 6; i += 32)
            tile[j][i] = a[(y + j) * (w + m) + x + i];
    __syncthreads();
    float sum = 0;
    for (int j = 0; j < m; j++)
        for (int i = 0; i < m; i++)
            sum += tile[threadIdx.y + j][threadIdx.x + i] * b[j * m + i];
    c[(y + threadIdx.y) * w + x + threadIdx.x] = sum;
"""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel with a launch.

    Attributes:
        size: items along x and y, and iterations of loops.
        block: threads along x and y.
    """

    name: str
    body: str
    size: tuple[int, int, int]
    block: tuple[int, int]


KERNELS = (
    Kernel(
        "product of matrices",
        _TWO + "    for (int j = 0; j < m; j++) sum += a[y * m + j] * b[j * w + x];\n"
        "    c[y * w + x] = sum;\n",
        (2048, 2048, 2048),
        (16, 16),
    ),
    Kernel(
        "convolution",
        _TWO + "    for (int j = 0; j < m; j++)\n        for (int i = 0; i < m; i++)\n"
        "            sum += a[(y + j) * (w + m) + x + i] * b[j * m + i];\n"
        "    c[y * w + x] = sum;\n",
        (4096, 4096, 7),
        (32, 8),
    ),
    Kernel(
        "all pairs",
        _ONE + "    float x = a[i], y = b[i], f = 0;\n    for (int j = 0; j < m; j++) {\n"
        "        float dx = a[j] - x, dy = b[j] - y;\n"
        "        f += dx * rsqrtf(dx * dx + dy * dy + 0.01f);\n    }\n    c[i] = f;\n",
        (1 << 19, 1, 4096),
        (256, 1),
    ),
    Kernel(
        "polynomial",
        _ONE
        + "    float x = a[i], sum = 0;\n    for (int j = 0; j < m; j++) sum = sum * x + b[j];\n"
        "    c[i] = sum;\n",
        (1 << 24, 1, 64),
        (256, 1),
    ),
    Kernel(
        "sums of columns",
        _ONE + "    float sum = 0;\n    for (int j = 0; j < m; j++) sum += a[j * w + i] * b[j];\n"
        "    c[i] = sum;\n",
        (1 << 20, 1, 64),
        (256, 1),
    ),
    Kernel("product of matrices through tiles", _TILED_PRODUCT, (2048, 2048, 2048), (16, 16)),
    Kernel("stencil through a tile", _TILED_STENCIL, (4096, 4096, 7), (32, 8)),
)

_MAIN = """
#include <algorithm>
#include <cstdio>
#include <vector>
template <class Launch> float timed(Launch launch) {
    cudaEvent_t begin, end;
    cudaEventCreate(&begin), cudaEventCreate(&end);
    std::vector<float> found;
    for (int run = 0; run < 12; run++) {
        float time;
        cudaEventRecord(begin), launch(), cudaEventRecord(end), cudaEventSynchronize(end);
        cudaEventElapsedTime(&time, begin, end);
        if (run > 1) found.push_back(time);
    }
    std::sort(found.begin(), found.end());
    return found[found.size() / 2];
}
int main() {
    const size_t n = COUNT;
    float *a, *b, *c, original = 0;
    cudaMalloc(&a, 4 * n), cudaMalloc(&b, 4 * n), cudaMalloc(&c, 4 * n);
    std::vector<float> values(n), wanted(n), given(n);
    for (size_t i = 0; i < n; i++) values[i] = (i * 2654435761u % 1000) / 1000.0f;
    cudaMemcpy(a, values.data(), 4 * n, cudaMemcpyHostToDevice);
    cudaMemcpy(b, values.data(), 4 * n, cudaMemcpyHostToDevice);
LAUNCHES
}
"""
_LAUNCH = """\
    {{
        cudaMemset(c, 0, 4 * n);
        float time = timed([&] {{ {name}::k<<<dim3({grid}), dim3({block})>>>(a, b, c, {size}); }});
        cudaMemcpy(given.data(), c, 4 * n, cudaMemcpyDeviceToHost);
        if (!original) original = time, wanted = given;
        printf("{name} %.4f ms, %.3f times as fast%s\\n", time, original / time,
               given == wanted ? "" : ", WRONG");
    }}
"""


def program(kernel: Kernel) -> str:
    """Return a program that times a kernel and all of its variants."""
    texts, launches = [], []
    (w, h, m), (bx, by) = kernel.size, kernel.block
    for name, text, items in variants(kernel):
        grid = (
            Shape(items=count).extents(-(-extent // threads), threads)[0]
            for count, extent, threads in zip(items, (w, h), (bx, by), strict=True)
        )
        words = {
            "grid": ", ".join(map(str, grid)),
            "block": f"{bx}, {by}",
            "size": f"{w}, {h}, {m}",
        }
        texts.append(f"namespace {name} {{\n{text}}}\n")
        launches.append(_LAUNCH.format(name=name, **words))
    count = max((w + m) * (h + m), w * m, h * m)
    main = _MAIN.replace("COUNT", str(count)).replace("LAUNCHES", "".join(launches))
    return "".join(texts) + main


def variants(kernel: Kernel) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Yield the original and each choice: name, text, and items per thread along x and y."""
    code = read_code(Source("k.cu", f"{_HEAD}{kernel.body}}}\n"))
    yield "original", code.text, (1, 1)
    for family in (Jam(), Merge(), Coarsen()):
        for site in family.sites(code):
            for choice in site.choices:
                rewrite = family.rewrite(code, site.at, choice)
                assert rewrite is not None, "it is offered"
                x, y = (rewrite.shape.get(f"k.items.{axis}", 1) for axis in "xy")
                yield choice, spliced(code.source, rewrite.splices).text, (x, y)


def main() -> None:
    """Compile, run and print."""
    nvcc = find_toolkit().nvcc
    for kernel in KERNELS:
        print(kernel.name, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            source, binary = Path(folder) / "k.cu", Path(folder) / "k"
            source.write_text(program(kernel), encoding="utf-8")
            subprocess.run([nvcc, "-O3", "-arch=native", "-o", binary, source], check=True)
            status = subprocess.run([binary], check=False).returncode
        if status:
            sys.exit(status)


if __name__ == "__main__":
    main()
