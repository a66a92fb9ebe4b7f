"""Kernels with grid-stride loops and their launches, before and after ``grid``; blocks of 64."""

from __future__ import annotations

from typing import NamedTuple

HEAD = """\
#define THREADS 64
__global__ void k(const float *a, float *b, int n) {
"""
OTHER = "__global__ void j(float *b) { b[threadIdx.x] = 0; }\n"
HOST = "void f(const float *a, float *b, int n, int count, cudaStream_t stream) {{ {} }}\n"
INDEX = "blockIdx.x * blockDim.x + threadIdx.x"
STRIDE = "blockDim.x * gridDim.x"


class Case(NamedTuple):
    """A kernel's body, a launch, a choice of the family, and the transformed launch."""

    body: str
    before: str
    choice: str
    after: str


CASES = {
    "a number of blocks": Case(
        f"    for (int i = {INDEX}; i < n; i += {STRIDE}) b[i] = 2 * a[i];\n",
        "k<<<24, 64>>>(a, b, n);",
        "grid_K4",
        "k<<<96, 64>>>(a, b, n);",
    ),
    "names for the first item and the step": Case(
        f"    const int first = {INDEX};\n    const int step = {STRIDE};\n"
        "    for (int i = first; i < n; i += step) b[i] = a[i] + 1;\n",
        "int blocks = 8 * count; j<<<blocks, 64>>>(b); k<<<blocks, 64>>>(a, b, n);",
        "grid_K2",
        "int blocks = 8 * count; j<<<blocks, 64>>>(b); k<<<blocks * 2, 64>>>(a, b, n);",
    ),
    "a macro for the block": Case(
        "    int i = threadIdx.x + blockIdx.x * THREADS;\n"
        "    for (; i < n; i += gridDim.x * THREADS) b[i] = a[n - 1 - i];\n",
        "const int blocks = 32; k<<<blocks, THREADS>>>(a, b, n);",
        "grid_K1of4",
        "const int blocks = 8; k<<<blocks, THREADS>>>(a, b, n);",
    ),
    "rows, at which the threads of a block take turns": Case(
        "    for (int row = blockIdx.x; row * 100 < n; row += gridDim.x)\n"
        "        for (int j = threadIdx.x; j < 100 && row * 100 + j < n; j += blockDim.x)\n"
        "            b[row * 100 + j] = a[row * 100 + j] * row;\n",
        "k<<<dim3(count), dim3(64)>>>(a, b, n);",
        "grid_K16",
        "k<<<dim3(count * 16), dim3(64)>>>(a, b, n);",
    ),
    "a while loop": Case(
        f"    int i = {INDEX}, step = {STRIDE};\n"
        "    while (i < n) {\n        b[i] = a[i];\n        i += step;\n    }\n",
        "k<<<(n + 63) / 64, 64>>>(a, b, n);",
        "grid_K2",
        "k<<<(n + 31) / 32, 64>>>(a, b, n);",
    ),
    "a step after some attempts": Case(
        f"    int i = {INDEX}, left = 3;\n    while (i < n) {{\n        b[i] = a[i] + left;\n"
        f"        if (--left == 0) {{\n            left = 3;\n            i += {STRIDE};\n"
        "        }\n    }\n",
        "k<<<count, 64>>>(a, b, n);",
        "grid_K1of2",
        "k<<<(count + 1) / 2, 64>>>(a, b, n);",
    ),
    "two loops with one counter": Case(
        f"    int i;\n    for (i = {INDEX}; i < n; i += {STRIDE}) b[i] = a[i];\n"
        f"    for (i = {INDEX}; i < n; i += {STRIDE}) b[i] += i;\n",
        "k<<<24, 64>>>(a, b, n);",
        "grid_K8",
        "k<<<192, 64>>>(a, b, n);",
    ),
    "warps": Case(
        "    const int lane = threadIdx.x % 32;\n"
        "    const int from = (threadIdx.x + blockIdx.x * THREADS) / 32;\n"
        "    for (int row = from; row * 40 < n; row += gridDim.x * THREADS / 32)\n"
        "        for (int j = row * 40 + lane; j < row * 40 + 40 && j < n; j += 32)\n"
        "            b[j] = a[j] - row;\n",
        "dim3 grid(count, 1, 1); k<<<grid, 64>>>(a, b, n);",
        "grid_K2",
        "dim3 grid(count * 2, 1, 1); k<<<grid, 64>>>(a, b, n);",
    ),
    "four items at a time, in 64 bits": Case(
        "    const size_t id = (size_t)blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    for (size_t i = id * 4; i < n; i += (size_t)gridDim.x * blockDim.x * 4)\n"
        "        for (int j = 0; j < 4 && i + j < n; j++) b[i + j] = a[i + j];\n",
        "k<<<min(count, 65535), 64>>>(a, b, n);",
        "grid_K4",
        "k<<<min(count, 65535) * 4, 64>>>(a, b, n);",
    ),
    "a pointer": Case(
        f"    for (const float *p = a + {INDEX}; p < a + n; p += {STRIDE}) b[p - a] = *p;\n",
        "int n_blocks = 2; n_blocks *= count; k<<<n_blocks, 64>>>(a, b, n);",
        "grid_K2",
        "int n_blocks = 2; n_blocks *= count; k<<<n_blocks * 2, 64>>>(a, b, n);",
    ),
    "the second half": Case(
        f"    for (int i = n / 2 + {INDEX}; i < n; i += {STRIDE}) b[i] = a[i / 2];\n",
        "k<<<1, 64>>>(a, b, n);",
        "grid_K16",
        "k<<<16, 64>>>(a, b, n);",
    ),
    "tiles with barriers": Case(
        "    __shared__ float tile[THREADS];\n"
        "    for (int at = blockIdx.x * THREADS; at < n; at += gridDim.x * THREADS) {\n"
        "        const int i = at + threadIdx.x;\n"
        "        tile[threadIdx.x] = i < n ? a[i] : 0;\n        __syncthreads();\n"
        "        if (i < n) b[i] = tile[threadIdx.x] + tile[0];\n        __syncthreads();\n    }\n",
        "k<<<24, THREADS>>>(a, b, n);",
        "grid_K4",
        "k<<<96, THREADS>>>(a, b, n);",
    ),
    "a sum of all": Case(
        "    __shared__ float sum;\n    if (threadIdx.x == 0) sum = 0;\n    __syncthreads();\n"
        f"    for (int i = {INDEX}; i < n; i += {STRIDE}) atomicAdd(&sum, a[i]);\n"
        "    __syncthreads();\n    if (threadIdx.x == 0) atomicAdd(&b[n], sum);\n",
        "k<<<count, 64, 0, stream>>>(a, b, n);",
        "grid_K1of4",
        "k<<<(count + 3) / 4, 64, 0, stream>>>(a, b, n);",
    ),
    "one of two branches": Case(
        f"#ifdef TWICE\n    const float by = 2;\n#else\n    const float by = 3;\n#endif\n"
        f"    for (int i = {INDEX}; i < n; i += {STRIDE}) b[i] = by * a[i];\n",
        "k<<<24, 64>>>(a, b, n);",
        "grid_K2",
        "k<<<48, 64>>>(a, b, n);",
    ),
    "blocks along two axes": Case(
        "    for (int i = (blockIdx.y * gridDim.x + blockIdx.x) * 64 + threadIdx.x; i < n;\n"
        "         i += gridDim.y * gridDim.x * 64)\n        b[i] = a[i];\n",
        "k<<<dim3(count, 2), 64>>>(a, b, n);",
        "grid_K8y",
        "k<<<dim3(count, 16), 64>>>(a, b, n);",
    ),
    "rows and columns": Case(
        "    for (int y = blockIdx.y; y * 50 < n; y += gridDim.y)\n"
        "        for (int x = blockIdx.x * blockDim.x + threadIdx.x; x < 50 && y * 50 + x < n;\n"
        "             x += gridDim.x * blockDim.x)\n"
        "            b[y * 50 + x] = a[y * 50 + x] * y;\n",
        "k<<<dim3(2, 8), 64>>>(a, b, n);",
        "grid_K4y",
        "k<<<dim3(2, 32), 64>>>(a, b, n);",
    ),
}

LOOP = f"for (int i = {INDEX}; i < n; i += {STRIDE})"

DECLINED = {
    "no loop": f"int i = {INDEX}; if (i < n) b[i] = a[i];",
    "a step without the number of blocks": f"for (int i = {INDEX}; i < n; i += 1024) b[i] = a[i];",
    "a sum of each block": f"float sum = 0; {LOOP} sum += a[i]; b[blockIdx.x] = sum;",
    "a sum of each thread": f"int t = {INDEX}; float sum = 0;"
    f" for (int i = t; i < n; i += {STRIDE}) sum += a[i]; b[t] = sum;",
    "the number of blocks in the work": f"{LOOP} b[i] = a[i] / gridDim.x;",
    "the number of the block in the work": f"{LOOP} b[i] = a[i] + blockIdx.x;",
    "the last block": f"{LOOP} b[i] = a[i];"
    " int last = atomicInc(&done, gridDim.x) == gridDim.x - 1; if (last) b[n] = 0;",
    "a count of each block": f"{LOOP} b[i] = a[i]; float old = atomicAdd(&b[blockIdx.x], 1.f);",
    "a barrier of all blocks": f"{LOOP} b[i] = a[i]; cooperative_groups::this_grid().sync();",
    "a number of the block in assembly": f'{LOOP} asm("mov.u32 %0, %ctaid.x;" : "=r"(b[i]));',
    "contiguous parts": "const int part = n / gridDim.x;"
    " for (int i = blockIdx.x * part; i < (blockIdx.x + 1) * part; i++) b[i] = a[i];",
    "a step of other blocks": "for (int i = blockIdx.x * 64 + threadIdx.x; i < n;"
    " i += gridDim.x * 32) b[i] = a[i];",
    "the first item of all blocks": f"for (int i = 0; i < n; i += {STRIDE}) b[i] = a[i];",
    "a step down": f"for (int i = {INDEX}; i >= 0; i -= {STRIDE}) b[i] = a[i];",
    "a counter that is used behind": f"int i = {INDEX};"
    f" while (i < n) {{ b[i] = a[i]; i += {STRIDE}; }} if (i == n) b[i] = 0;",
    "two steps": f"for (int i = {INDEX}; i < n; i += {STRIDE}, i += {STRIDE}) b[i] = a[i];",
    "a counter that changes": f"{LOOP} {{ b[i] = a[i]; i++; }}",
    "a counter that is set": f"{LOOP} {{ b[i] = a[i]; if (a[i] < 0) i = n; }}",
    "a step that changes": f"int step = {STRIDE}; step *= 2;"
    f" for (int i = {INDEX}; i < n; i += step) b[i] = a[i];",
    "a step in the condition": f"int i = {INDEX};"
    f" do b[i] = a[i]; while (n > 64 && (i += {STRIDE}) < n);",
    "all numbers of a block": f"{LOOP} b[i] = of(blockIdx);",
    "a function that uses them": f"{LOOP} b[i] = share();",
    "a macro that uses them": "EACH(i, n) b[i] = a[i];",
}
"""Bodies of kernels; functions and macros that they use are in ``BEFORE_DECLINED``."""

BEFORE_DECLINED = """\
#define EACH(i, n) for (int i = blockIdx.x; i < n; i += gridDim.x)
__device__ unsigned done;
__device__ float of(uint3 block) { return block.x; }
__device__ float share() { return 1.f / gridDim.x; }
"""
