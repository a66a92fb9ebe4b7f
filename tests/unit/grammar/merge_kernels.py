"""Kernels with shared memory whose blocks can be merged: before and after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gi_cuda.spec.launching.shape import Extent

HEAD = """\
__device__ void fill(float *row, const float *a, int i) { row[threadIdx.x] = a[i]; }
__global__ void k(const float *a, const float *b, float *c, int n, int m) {
"""
TILE = 8
"""Threads of a block along each axis."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel with its launches.

    Attributes:
        body: the body.
        grid: the blocks along x, y and z for arrays of ``n * m`` elements.
        flat: True if blocks have threads along x alone.
        bare: True if nothing guards the accesses of blocks beyond the grid, so that the grid stays.
    """

    body: str
    grid: Callable[[int, int], Extent] = lambda n, m: (_tiles(n, m)[0], 1, 1)
    flat: bool = True
    bare: bool = False


def _rows(n: int, _: int) -> Extent:
    return max(1, n), 1, 1


def _tiles(n: int, m: int) -> Extent:
    return max(1, -(-n // TILE)), max(1, -(-m // TILE)), 1


BEFORE = {
    "all pairs": Kernel("""\
    __shared__ float theirs[8];
    int i = blockIdx.x * 8 + threadIdx.x;
    float x = i < n ? a[i] : 0, sum = 0;
    for (int j = 0; j < n; j += 8) {
        theirs[threadIdx.x] = j + threadIdx.x < n ? b[j + threadIdx.x] : 0;
        __syncthreads();
        for (int t = 0; t < 8; t++)
            sum += x * theirs[t];
        __syncthreads();
    }
    if (i < n) c[i] = sum;
"""),
    "an early return": Kernel("""\
    __shared__ float tile[8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j < m; j++) {
        tile[threadIdx.x] = a[i * m + j];
        __syncthreads();
        sum += tile[threadIdx.x] + b[j];
        __syncthreads();
    }
    c[i] = sum;
"""),
    "tiles without a limit": Kernel(
        """\
    __shared__ float tile[8][9];
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = a[y * (n + 8) + x];
    __syncthreads();
    float sum = 0;
    for (int t = 0; t < 8; t++)
        sum += tile[threadIdx.y][t] * tile[t][threadIdx.x];
    c[y * (n + 8) + x] = sum;
""",
        grid=_tiles,
        flat=False,
        bare=True,
    ),
    "sums of rows": Kernel(
        """\
    __shared__ float sums[8];
    sums[threadIdx.x] = 0;
    for (int j = threadIdx.x; j < m; j += 8) {
        sums[threadIdx.x] += a[blockIdx.x * m + j] * b[j];
    }
    for (int half = 4; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        c[blockIdx.x] = sums[0];
    }
""",
        _rows,
        bare=True,
    ),
    "a row that there may not be": Kernel(
        """\
    __shared__ float most;
    const int row = blockIdx.x;
    if (threadIdx.x == 0) most = row < n ? a[row * m] : 0;
    __syncthreads();
    for (int j = threadIdx.x; j < m; j += blockDim.x)
        if (row < n) c[row * m + j] = b[row * m + j] - most;
""",
        _rows,
    ),
    "a stencil": Kernel("""\
    __shared__ float near[8 + 2];
    const int t = threadIdx.x + 1;
    const unsigned int i = blockIdx.x * 8 + threadIdx.x;
    near[t] = i < n ? a[i] : 0;
    if (t == 1) near[0] = i > 0 && i < n ? a[i - 1] : 0;
    if (t == 8) near[9] = i + 1 < n ? a[i + 1] : 0;
    __syncthreads();
    if (i < n)
        c[i] = near[t - 1] + 2 * near[t] + near[t + 1];
"""),
    "a histogram": Kernel("""\
    __shared__ int counts[4];
    if (threadIdx.x < 4) counts[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[(int)(a[i] * 4)], 1);
    __syncthreads();
    if (i < n) c[i] = counts[(int)(a[i] * 4)];
"""),
    "a transposition": Kernel(
        """\
    __shared__ float tile[8][9];
    int x = blockIdx.x * 8 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    if (x < n && y < m)
        tile[threadIdx.y][threadIdx.x] = a[y * n + x];
    __syncthreads();
    x = blockIdx.y * 8 + threadIdx.x;
    y = blockIdx.x * 8 + threadIdx.y;
    if (y < n && x < m)
        c[y * m + x] = tile[threadIdx.x][threadIdx.y];
""",
        _tiles,
        flat=False,
    ),
    "a product of matrices": Kernel(
        """\
    __shared__ float left[8][8], right[8][8];
    int tx = threadIdx.x, x = blockIdx.x * 8 + tx;
    int ty = threadIdx.y, y = blockIdx.y * 8 + ty;
    float sum = 0.0f;
    for (int j = 0; j < n; j += 8) {
        left[ty][tx] = y < m && j + tx < n ? a[y * n + j + tx] : 0;
        right[ty][tx] = x < n && j + ty < m ? b[(j + ty) * n + x] : 0;
        __syncthreads();
        #pragma unroll
        for (int t = 0; t < 8; t++) {
            sum += left[ty][t] * right[t][tx];
        }
        __syncthreads();
    }
    if (x < n && y < m) {
        c[y * n + x] = sum;
    }
""",
        _tiles,
        flat=False,
    ),
    "a pointer to shared memory": Kernel(
        """\
    __shared__ float tile[16];
    float *mine = tile + 8;
    float *const same = mine;
    int i = blockIdx.x * 8 + threadIdx.x;
    same[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    float sum = 0;
    for (int t = 8; t < 16; t++) sum += tile[t];
    if (i < n) c[i] = sum;
""",
        bare=True,
    ),
    "a function that fills an array": Kernel("""\
    __shared__ float row[8];
    int i = blockIdx.x * 8 + threadIdx.x;
    if (i < n) {
        fill(row, a, i);
    }
    __syncthreads();
    float sum[2] = {0};
    for (int t = 0; t < 8; t++) {
        if (blockIdx.x * 8 + t < n) sum[t % 2] += row[t];
    }
    if (i < n) c[i] = sum[0] - sum[1];
"""),
    "a break for all items": Kernel("""\
    __shared__ float tile[8];
    int i = blockIdx.x * 8 + threadIdx.x;
    float sum(0);
    for (int j = 0; ; j += 8) {
        if (j >= n) break;
        tile[threadIdx.x] = j + threadIdx.x < n ? a[j + threadIdx.x] : 0;
        __syncthreads();
        if (i < n) {
            sum += tile[i % 8];
        }
        __syncthreads();
    }
    if (i < n) c[i] = sum;
"""),
    "a loop of its own length": Kernel("""\
    static __shared__ float tile[8];
    int i = blockIdx.x * 8 + threadIdx.x;
    tile[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    float sum = 0;
    for (int j = 0; j < i % 8; j++) {
        if (tile[j] > 0.9f) continue;
        sum += tile[j];
    }
    if (i < n) c[i] = sum;
"""),
    "a variable in two blocks": Kernel("""\
    __shared__ float tile[8];
    int i = blockIdx.x * 8 + threadIdx.x;
    tile[threadIdx.x] = i < n ? a[i] : 0;
    __syncthreads();
    float one = 0;
    for (int t = 0; t < 8; t++) {
        float more = tile[t];
        for (int j = 0; j < 2; j++) more *= b[j];
        one += more;
    }
    if (n > 3) {
        float more = one;
        for (int j = 0; j < 2; j++) more += b[j];
        if (i < n) c[i] = more;
    }
"""),
}
