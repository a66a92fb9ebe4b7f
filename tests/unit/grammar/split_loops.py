"""Kernels with loops of a thread, before and after blocks share the iterations."""

from __future__ import annotations

SHARED = {
    "one loop": (
        "split_K8",
        """
__global__ void scale(const float *a, float *b, int columns, int rows) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < columns) {
        for (int j = 0; j < rows; j++)
            b[j * columns + i] = 2 * a[j * columns + i];
    }
}
""",
        """
__global__ void scale(const float *a, float *b, int columns, int rows) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < columns) {
        for (int j = blockIdx.y; j < rows; j += gridDim.y)
            b[j * columns + i] = 2 * a[j * columns + i];
    }
}
""",
    ),
    "tabs, an early return, a step, an unsigned variable": (
        "split_K2",
        """
__global__ void every_second(const int *a, int *b, const int n, const unsigned m) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	#pragma unroll 4
	for (unsigned j = i % 2; j < m; j += 2) {
		b[i * m + j] += a[j];
	}
}
""",
        """
__global__ void every_second(const int *a, int *b, const int n, const unsigned m) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	#pragma unroll 4
	for (unsigned j = i % 2 + blockIdx.y * 2; j < m; j += 2 * gridDim.y) {
		b[i * m + j] += a[j];
	}
}
""",
    ),
    "two dimensions: the third one is free": (
        "split_K16",
        """
__global__ void layers(const float *a, float *b, int width, int height, int depth) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        for (int z = 0; z < depth; ++z)
            b[(z * height + y) * width + x] = a[z * height * width];
}
""",
        """
__global__ void layers(const float *a, float *b, int width, int height, int depth) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        for (int z = blockIdx.z; z < depth; z += gridDim.z)
            b[(z * height + y) * width + x] = a[z * height * width];
}
""",
    ),
    "a long variable, which an int starts": (
        "split_K4",
        """
__global__ void wide(double *b, int n, long m, int first) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (long j = first; j <= m; j++) b[j * n + i] = j;
}
""",
        """
__global__ void wide(double *b, int n, long m, int first) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (long j = first + (int)blockIdx.y; j <= m; j += gridDim.y) b[j * n + i] = j;
}
""",
    ),
    "a step that is an expression": (
        "split_K4",
        """
__global__ void stepped(double *b, int n, long m, int step) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (long j = i & 3; j < m - 1; j = j + (step + 1))
        b[j * n + i] = j;
}
""",
        """
__global__ void stepped(double *b, int n, long m, int step) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (long j = (i & 3) + (int)blockIdx.y * (step + 1); j < m - 1; j = j + (step + 1) * gridDim.y)
        b[j * n + i] = j;
}
""",
    ),
    "variables that are declared outside, an inner loop": (
        "split_K8",
        """
__global__ void blend(const float *a, const float *w, float *b, int n, int m) {
    int i, j, k;
    float sum;
    i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (j = 0; j < m; j++) {
        sum = 0;
        for (k = -2; k <= 2; k++)
            if (j + k >= 0 && j + k < m) sum += w[k + 2] * a[(j + k) * n + i];
        if (sum < 0) continue;
        b[j * n + i] = sum;
    }
}
""",
        """
__global__ void blend(const float *a, const float *w, float *b, int n, int m) {
    int i, j, k;
    float sum;
    i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (j = blockIdx.y; j < m; j += gridDim.y) {
        sum = 0;
        for (k = -2; k <= 2; k++)
            if (j + k >= 0 && j + k < m) sum += w[k + 2] * a[(j + k) * n + i];
        if (sum < 0) continue;
        b[j * n + i] = sum;
    }
}
""",
    ),
    "a loop of a thread over its rows is around": (
        "split_K8",
        """
__global__ void rows(const float *a, float *b, int n, int m) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float first = a[i];
        for (int j = 0; j < m; j++) b[i * m + j] = first * j;
    }
}
""",
        """
__global__ void rows(const float *a, float *b, int n, int m) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float first = a[i];
        for (int j = blockIdx.y; j < m; j += gridDim.y) b[i * m + j] = first * j;
    }
}
""",
    ),
    "what others added up before": (
        "split_K8",
        """
__global__ void divided(const float *a, float *b, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j < m; j++) sum += a[i * m + j];
    for (int j = 0; j < m; j++) b[i * m + j] = a[i * m + j] / sum;
}
""",
        """
__global__ void divided(const float *a, float *b, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j < m; j++) sum += a[i * m + j];
    for (int j = blockIdx.y; j < m; j += gridDim.y) b[i * m + j] = a[i * m + j] / sum;
}
""",
    ),
    "atomic operations": (
        "split_K64",
        """
__global__ void bins(const int *a, int *counts, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int j = 0; j < m; j++)
            atomicAdd(&counts[a[i * m + j]], 1);
}
""",
        """
__global__ void bins(const int *a, int *counts, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int j = blockIdx.y; j < m; j += gridDim.y)
            atomicAdd(&counts[a[i * m + j]], 1);
}
""",
    ),
    "a list, by the place that an atomic operation gives": (
        "split_K2",
        """
__global__ void large(const int *a, int *list, int *length, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 0; j < m; j++)
        if (a[i * m + j] > 9) {
            int place = atomicAdd(length, 1);
            list[place] = a[i * m + j];
        }
}
""",
        """
__global__ void large(const int *a, int *list, int *length, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = blockIdx.y; j < m; j += gridDim.y)
        if (a[i * m + j] > 9) {
            int place = atomicAdd(length, 1);
            list[place] = a[i * m + j];
        }
}
""",
    ),
    "a pointer that counts": (
        "split_K4",
        """
__global__ void pointed(float *b, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (float *p = b + i * m; p < b + i * m + m; p++) *p = i;
}
""",
        """
__global__ void pointed(float *b, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (float *p = b + i * m + blockIdx.y; p < b + i * m + m; p += gridDim.y) *p = i;
}
""",
    ),
    "a deduced type": (
        "split_K4",
        """
__global__ void deduced(float *b, int n, int m) {
    auto i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (auto j = 0; j < m; ++j) b[j * n + i] = j;
}
""",
        """
__global__ void deduced(float *b, int n, int m) {
    auto i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (auto j = (int)blockIdx.y; j < m; j += gridDim.y) b[j * n + i] = j;
}
""",
    ),
    "elements that are exchanged": (
        "split_K8",
        """
__global__ void reversed(float *b, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        for (int j = 0; j < m / 2; j++) {
            float kept = b[j * n + i];
            b[j * n + i] = b[(m - 1 - j) * n + i];
            b[(m - 1 - j) * n + i] = kept;
        }
    }
}
""",
        """
__global__ void reversed(float *b, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        for (int j = blockIdx.y; j < m / 2; j += gridDim.y) {
            float kept = b[j * n + i];
            b[j * n + i] = b[(m - 1 - j) * n + i];
            b[(m - 1 - j) * n + i] = kept;
        }
    }
}
""",
    ),
    "a short loop, of which no more blocks than iterations share": (
        "split_K4",
        """
__global__ void few(float4 *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (int j = 1; j <= 4; j++) b[j * n + i].x = j;
}
""",
        """
__global__ void few(float4 *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) for (int j = 1 + blockIdx.y; j <= 4; j += gridDim.y) b[j * n + i].x = j;
}
""",
    ),
}
"""Test name -> choice, kernel before, kernel after."""
