"""Kernels that do not compare their index, and shapes of their launches."""

KERNEL = """\
__global__ void k(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = 2 * a[i];
}
"""
OTHER = "__global__ void j(float *a, int n) { a[blockIdx.x] = n; }\n"
Y = "    int y = blockIdx.y * blockDim.y + threadIdx.y;\n"

SMALL = {"k.threads.x": 64, "k.exact.x": 1}
"""Blocks of 64 threads."""

FOUR = {"k.items.x": 4, "k.exact.x": 1}
"""Four items for each thread."""

BOTH = {**SMALL, **FOUR}
FLAT = {"k.threads.x": 8, "k.threads.y": 4, "k.exact.x": 1, "k.exact.y": 1}
