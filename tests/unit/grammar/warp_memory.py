"""Kernels that write memory in several places, before and after rows get lanes."""

from __future__ import annotations

MEMORY = {
    "loops over rows, no braces, both branches write": (
        "warp_K32",
        """
__global__ void strided(const int *a, int *b, int rows, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < rows;
         i += blockDim.x * gridDim.x) {
        int most = a[i * n];
        for (int j = 1; j < n; j++) if (a[i * n + j] > most) most = a[i * n + j];
        if (most > 9) b[i] = most; else b[i] = 0;
    }
}
""",
        """
__global__ void strided(const int *a, int *b, int rows, int n) {
    const int lane = threadIdx.x % 32;
    for (int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32; i < rows;
         i += blockDim.x * gridDim.x / 32) {
        int most = a[i * n];
        for (int j = 1 + lane; j < n; j += 32) if (a[i * n + j] > most) most = a[i * n + j];
        for (int offset = 16; offset > 0; offset /= 2)
            most = max(most, __shfl_xor_sync(0xffffffff, most, offset));
        if (most > 9) { if (lane == 0) b[i] = most; } else { if (lane == 0) b[i] = 0; }
    }
}
""",
    ),
    "bodies without braces": (
        "warp_K32",
        """
__global__ void bare(const float *a, float *b, int rows, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    if (i < rows)
        for (int j = 0; j < n; j++)
            sum += a[i * n + j];
    if (i < rows)
        b[i] = sum;
    else
        return;
}
""",
        """
__global__ void bare(const float *a, float *b, int rows, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    float sum = 0;
    if (i < rows) {
        for (int j = lane; j < n; j += 32)
            sum += a[i * n + j];
        for (int offset = 16; offset > 0; offset /= 2)
            sum += __shfl_xor_sync(0xffffffff, sum, offset);
    }
    if (i < rows) {
        if (lane == 0) b[i] = sum;
    }
    else
        return;
}
""",
    ),
    "iterations that write memory, read by the next loop": (
        "warp_K32",
        """
__global__ void soften(const float *in, float *out, int rows, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) {
        float *row = out + i * n;
        for (int j = 0; j < n; j++)
            row[j] = expf(in[i * n + j]);
        float sum = 0;
        for (int j = 0; j < n; j++)
            sum += row[n - 1 - j];
        for (int j = 0; j < n; j++)
            row[j] /= sum;
    }
}
""",
        """
__global__ void soften(const float *in, float *out, int rows, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (i < rows) {
        float *row = out + i * n;
        for (int j = lane; j < n; j += 32)
            row[j] = expf(in[i * n + j]);
        __syncwarp(0xffffffff);
        float sum = 0;
        for (int j = lane; j < n; j += 32)
            sum += row[n - 1 - j];
        for (int offset = 16; offset > 0; offset /= 2)
            sum += __shfl_xor_sync(0xffffffff, sum, offset);
        __syncwarp(0xffffffff);
        for (int j = lane; j < n; j += 32)
            row[j] /= sum;
    }
}
""",
    ),
    "a loop that stays: each iteration needs the last one": (
        "warp_K32",
        """
__global__ void steps(const float *a, float *b, int rows, int n, int times) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    float x = b[i];
    for (int t = 0; t < times; t++) {
        float sum = 0;
        for (int j = 0; j < n; j++) sum += a[i * n + j] * x;
        x = 0.5f * (x + sum);
    }
    b[i] = x;
}
""",
        """
__global__ void steps(const float *a, float *b, int rows, int n, int times) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (i >= rows) return;
    float x = b[i];
    for (int t = 0; t < times; t++) {
        float sum = 0;
        for (int j = lane; j < n; j += 32) sum += a[i * n + j] * x;
        for (int offset = 16; offset > 0; offset /= 2)
            sum += __shfl_xor_sync(0xffffffff, sum, offset);
        x = 0.5f * (x + sum);
    }
    __syncwarp(0xffffffff);
    if (lane == 0) b[i] = x;
}
""",
    ),
    "atomic operations outside and inside of the loop": (
        "warp_K8",
        """
__global__ void graph(const int *ends, const int *edges, const float *x, float *y, float *all,
                      int nodes) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < nodes) {
        float sum = 0;
        for (int e = ends[v]; e < ends[v + 1]; e++) {
            sum += x[edges[e]];
            atomicAdd(&y[edges[e]], x[v]);
        }
        atomicAdd(all, sum);
    }
}
""",
        """
__global__ void graph(const int *ends, const int *edges, const float *x, float *y, float *all,
                      int nodes) {
    int v = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
    const int lane = threadIdx.x % 8;
    const unsigned mask = 0xffu << (threadIdx.x % 32 / 8 * 8);
    if (v < nodes) {
        float sum = 0;
        for (int e = ends[v] + lane; e < ends[v + 1]; e += 8) {
            sum += x[edges[e]];
            atomicAdd(&y[edges[e]], x[v]);
        }
        for (int offset = 4; offset > 0; offset /= 2)
            sum += __shfl_xor_sync(mask, sum, offset);
        if (lane == 0) atomicAdd(all, sum);
    }
}
""",
    ),
    "memory that was read before it is written": (
        "warp_K8",
        """
__global__ void visit(const int *ends, const int *edges, int *todo, int *next, int nodes) {
    int v = blockIdx.x * blockDim.x + threadIdx.x;
    if (v < nodes && todo[v]) {
        todo[v] = 0;
        for (int e = ends[v]; e < ends[v + 1]; e++) next[edges[e]] = 1;
    }
}
""",
        """
__global__ void visit(const int *ends, const int *edges, int *todo, int *next, int nodes) {
    int v = (blockIdx.x * blockDim.x + threadIdx.x) / 8;
    const int lane = threadIdx.x % 8;
    const unsigned mask = 0xffu << (threadIdx.x % 32 / 8 * 8);
    if (v < nodes && todo[v]) {
        __syncwarp(mask);
        if (lane == 0) todo[v] = 0;
        for (int e = ends[v] + lane; e < ends[v + 1]; e += 8) next[edges[e]] = 1;
    }
}
""",
    ),
}
"""Test name -> choice, kernel before, kernel after."""
