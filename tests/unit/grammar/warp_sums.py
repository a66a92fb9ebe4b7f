"""Kernels whose rows are sums, before and after each row gets a group of lanes."""

from __future__ import annotations

SUMS = {
    "one sum": (
        "warp_K32",
        """
__global__ void row_sums(const float *a, float *b, int rows, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) {
        float sum = 0;
        for (int j = 0; j < n; j++)
            sum += a[i * n + j];
        b[i] = sum;
    }
}
""",
        """
__global__ void row_sums(const float *a, float *b, int rows, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (i < rows) {
        float sum = 0;
        for (int j = lane; j < n; j += 32)
            sum += a[i * n + j];
        for (int offset = 16; offset > 0; offset /= 2)
            sum += __shfl_xor_sync(0xffffffff, sum, offset);
        if (lane == 0) b[i] = sum;
    }
}
""",
    ),
    "tabs, an early return, a const index, an offset start": (
        "warp_K8",
        """
__global__ void spmv(const int *ends, const int *columns, const double *a, const double *x,
                     double *y, int rows) {
	const int row = threadIdx.x + blockIdx.x * blockDim.x;
	if (row >= rows)
		return;
	double dot = 0.0;
	#pragma unroll 2
	for (int k = ends[row]; k < ends[row + 1]; ++k) {
		dot += a[k] * x[columns[k]];
	}
	y[row] = dot;
}
""",
        """
__global__ void spmv(const int *ends, const int *columns, const double *a, const double *x,
                     double *y, int rows) {
	const int row = (threadIdx.x + blockIdx.x * blockDim.x) / 8;
	const int lane = threadIdx.x % 8;
	const unsigned mask = 0xffu << (threadIdx.x % 32 / 8 * 8);
	if (row >= rows)
		return;
	double dot = 0.0;
	#pragma unroll 2
	for (int k = ends[row] + lane; k < ends[row + 1]; k += 8) {
		dot += a[k] * x[columns[k]];
	}
	for (int offset = 4; offset > 0; offset /= 2)
		dot += __shfl_xor_sync(mask, dot, offset);
	if (lane == 0) y[row] = dot;
}
""",
    ),
    "a sum that begins with a value, a maximum, a size_t index": (
        "warp_K4",
        """
__global__ void both(const float *a, float *sums, float *tops, size_t rows, unsigned n) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    float sum = sums[i], top = a[i * n];
    for (unsigned j = 1; j < n; j += 2) {
        if (a[i * n + j] < 0) continue;
        sum = sum + a[i * n + j];
        top = fmaxf(top, a[i * n + j]);
    }
    sums[i] = sum;  // with what was there
    tops[i] = top;
}
""",
        """
__global__ void both(const float *a, float *sums, float *tops, size_t rows, unsigned n) {
    size_t i = ((size_t)blockIdx.x * blockDim.x + threadIdx.x) / 4;
    const int lane = threadIdx.x % 4;
    const unsigned mask = 0xfu << (threadIdx.x % 32 / 4 * 4);
    if (i >= rows) return;
    float sum = sums[i], top = a[i * n];
    if (lane != 0) sum = 0;
    for (unsigned j = 1 + lane * 2; j < n; j += 8) {
        if (a[i * n + j] < 0) continue;
        sum = sum + a[i * n + j];
        top = fmaxf(top, a[i * n + j]);
    }
    for (int offset = 2; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(mask, sum, offset);
        top = fmaxf(top, __shfl_xor_sync(mask, top, offset));
    }
    __syncwarp(mask);
    if (lane == 0) {
        sums[i] = sum;  // with what was there
        tops[i] = top;
    }
}
""",
    ),
    "members and counters": (
        "warp_K16",
        """
__global__ void forces(const float4 *bodies, float3 *forces, int *near, int n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float3 force = make_float3(0, 0, 0);
        int count = 0;
        for (int j = 0; j < n; ++j) {
            float dx = bodies[j].x - bodies[i].x, dy = bodies[j].y - bodies[i].y;
            float d = rsqrtf(dx * dx + dy * dy + 0.01f);
            force.x += dx * d;
            force.y = fmaf(dy, d, force.y);
            if (d > 1) count++;
        }
        forces[i] = force;
        near[i] = count;
    }
}
""",
        """
__global__ void forces(const float4 *bodies, float3 *forces, int *near, int n) {
    unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) / 16;
    const int lane = threadIdx.x % 16;
    const unsigned mask = 0xffffu << (threadIdx.x % 32 / 16 * 16);
    if (i < n) {
        float3 force = make_float3(0, 0, 0);
        int count = 0;
        if (lane != 0) force.x = force.y = 0;
        for (int j = lane; j < n; j += 16) {
            float dx = bodies[j].x - bodies[i].x, dy = bodies[j].y - bodies[i].y;
            float d = rsqrtf(dx * dx + dy * dy + 0.01f);
            force.x += dx * d;
            force.y = fmaf(dy, d, force.y);
            if (d > 1) count++;
        }
        for (int offset = 8; offset > 0; offset /= 2) {
            force.x += __shfl_xor_sync(mask, force.x, offset);
            force.y += __shfl_xor_sync(mask, force.y, offset);
            count += __shfl_xor_sync(mask, count, offset);
        }
        if (lane == 0) {
            forces[i] = force;
            near[i] = count;
        }
    }
}
""",
    ),
    "an array of sums": (
        "warp_K32",
        """
#define DIMENSIONS 3
__global__ void centre(const float *points, float *centres, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float mean[DIMENSIONS] = {0}, weight = 0;
    for (int j = 0; j < n; j++) {
        float w = 1.f / (1 + abs(i - j));
        for (int k = 0; k < DIMENSIONS; k++) mean[k] += w * points[j * DIMENSIONS + k];
        weight += w;
    }
    for (int k = 0; k < DIMENSIONS; k++) centres[i * DIMENSIONS + k] = mean[k] / weight;
}
""",
        """
#define DIMENSIONS 3
__global__ void centre(const float *points, float *centres, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (i >= n) return;
    float mean[DIMENSIONS] = {0}, weight = 0;
    for (int j = lane; j < n; j += 32) {
        float w = 1.f / (1 + abs(i - j));
        for (int k = 0; k < DIMENSIONS; k++) mean[k] += w * points[j * DIMENSIONS + k];
        weight += w;
    }
    for (int offset = 16; offset > 0; offset /= 2)
        weight += __shfl_xor_sync(0xffffffff, weight, offset);
    for (int element = 0; element < DIMENSIONS; element++)
        for (int offset = 16; offset > 0; offset /= 2)
            mean[element] += __shfl_xor_sync(0xffffffff, mean[element], offset);
    for (int k = lane; k < DIMENSIONS; k += 32) centres[i * DIMENSIONS + k] = mean[k] / weight;
}
""",
    ),
    "variables that are declared outside": (
        "warp_K32",
        """
__global__ void outside(const float *a, float *b, int rows, int n) {
    int i, j;
    float d, sum = 0;
    i = blockIdx.x * blockDim.x + threadIdx.x;  // the row
    if (i >= rows) return;
    for (j = 0; j <= n - 1; j = j + 1) {
        d = a[i * n + j] - 1;
        sum -= d * d;
    }
    b[i] = sum;
}
""",
        """
__global__ void outside(const float *a, float *b, int rows, int n) {
    int i, j;
    float d, sum = 0;
    i = (blockIdx.x * blockDim.x + threadIdx.x) / 32;  // the row
    const int lane = threadIdx.x % 32;
    if (i >= rows) return;
    for (j = lane; j <= n - 1; j += 32) {
        d = a[i * n + j] - 1;
        sum -= d * d;
    }
    for (int offset = 16; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    if (lane == 0) b[i] = sum;
}
""",
    ),
    "a step of its own, names that are taken": (
        "warp_K32",
        """
__global__ void named(const long long *a, long long *lane, int rows, int n, int offset) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x);
    if (i < rows) {
        long long product = 1, bits = 0;
        for (int j = i & 1; j < n; j += offset + 1) {
            product *= a[j];
            bits ^= a[j];
        }
        lane[i] = product + bits;
    }
}
""",
        """
__global__ void named(const long long *a, long long *lane, int rows, int n, int offset) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane2 = threadIdx.x % 32;
    if (i < rows) {
        long long product = 1, bits = 0;
        for (int j = (i & 1) + lane2 * (offset + 1); j < n; j += (offset + 1) * 32) {
            product *= a[j];
            bits ^= a[j];
        }
        for (int offset2 = 16; offset2 > 0; offset2 /= 2) {
            product *= __shfl_xor_sync(0xffffffff, product, offset2);
            bits ^= __shfl_xor_sync(0xffffffff, bits, offset2);
        }
        if (lane2 == 0) lane[i] = product + bits;
    }
}
""",
    ),
    "a smallest value by a conditional, an index in the condition": (
        "warp_K32",
        """
__global__ void lowest(const double *a, double *b, int rows, int n) {
    if (blockIdx.x * blockDim.x + threadIdx.x < rows) {
        const double *row = a + (blockIdx.x * blockDim.x + threadIdx.x) * n;
        double low = row[0];
        for (const double *p = row; p < row + n; p++) low = *p < low ? *p : low;
        b[blockIdx.x * blockDim.x + threadIdx.x] = low;
    }
}
""",
        """
__global__ void lowest(const double *a, double *b, int rows, int n) {
    const int lane = threadIdx.x % 32;
    if ((blockIdx.x * blockDim.x + threadIdx.x) / 32 < rows) {
        const double *row = a + ((blockIdx.x * blockDim.x + threadIdx.x) / 32) * n;
        double low = row[0];
        for (const double *p = row + lane; p < row + n; p += 32) low = *p < low ? *p : low;
        for (int offset = 16; offset > 0; offset /= 2)
            low = fmin(low, __shfl_xor_sync(0xffffffff, low, offset));
        if (lane == 0) b[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = low;
    }
}
""",
    ),
    "neighbouring threads keep neighbouring rows": (
        "warp_K8i",
        """
__global__ void columns(const float *a, float *b, int n, int d) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= d) return;
    float sum = 0;
    for (int i = 0; i < n; i++) sum += a[i * d + j];
    b[j] = sum;
}
""",
        """
__global__ void columns(const float *a, float *b, int n, int d) {
    int j = (blockIdx.x * blockDim.x + threadIdx.x) / 32 * 4 + threadIdx.x % 4;
    const int lane = threadIdx.x % 32 / 4;
    const unsigned mask = 0x11111111u << (threadIdx.x % 4);
    if (j >= d) return;
    float sum = 0;
    for (int i = lane; i < n; i += 8) sum += a[i * d + j];
    for (int offset = 16; offset >= 4; offset /= 2)
        sum += __shfl_xor_sync(mask, sum, offset);
    if (lane == 0) b[j] = sum;
}
""",
    ),
}
"""Test name -> choice, kernel before, kernel after."""
