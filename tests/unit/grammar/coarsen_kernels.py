"""Kernels whose threads get several items: the choice, before and after."""

from __future__ import annotations

CASES = {
    "the whole work under an if": (
        "coarsen_K4",
        """
__global__ void k(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        a[i] = 2 * a[i];
    }
}
""",
        """
__global__ void k(float *a, int n) {
    int i = blockIdx.x * 4 * blockDim.x + threadIdx.x;
    #pragma unroll
    for (int item = 0; item < 4 && i < n; item++, i += blockDim.x) {
        a[i] = 2 * a[i];
    }
}
""",
    ),
    "a constant index, an if without braces": (
        "coarsen_K2",
        """
__global__ void k(float *a, int n) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < n) a[i] = 2 * a[i];
}
""",
        """
__global__ void k(float *a, int n) {
  int i = threadIdx.x + blockIdx.x * 2 * blockDim.x;
  #pragma unroll
  for (int item = 0; item < 2 && i < n; item++, i += blockDim.x) a[i] = 2 * a[i];
}
""",
    ),
    "an index of size_t, two conditions": (
        "coarsen_K8",
        """
__global__ void k(float *a, size_t n, bool on) {
	size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
	if (on && i < n) {
		a[i] += 1;
	}
}
""",
        """
__global__ void k(float *a, size_t n, bool on) {
	size_t i = (size_t)blockIdx.x * 8 * blockDim.x + threadIdx.x;
	#pragma unroll
	for (int item = 0; item < 8 && on && i < n; item++, i += blockDim.x) {
		a[i] += 1;
	}
}
""",
    ),
    "conditions of which one is enough": (
        "coarsen_K2",
        """
__global__ void k(float *a, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n || i == m)
        a[i] = 0;
}
""",
        """
__global__ void k(float *a, int n, int m) {
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        int i = (blockIdx.x * 2 + item) * blockDim.x + threadIdx.x;
        if (i < n || i == m)
            a[i] = 0;
    }
}
""",
    ),
    "a return where nothing is to be done": (
        "coarsen_K4",
        """
__global__ void k(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;

    float x = a[i];
    a[i] = x * x;
}
""",
        """
__global__ void k(float *a, int n) {
    #pragma unroll
    for (int item = 0; item < 4; item++) {
        int i = (blockIdx.x * 4 + item) * blockDim.x + threadIdx.x;
        if (i >= n) continue;

        float x = a[i];
        a[i] = x * x;
    }
}
""",
    ),
    "a return in braces": (
        "coarsen_K2",
        """
__global__ void k(float *a, int n)
{
  const unsigned i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i >= n)
  {
    return;
  }
  a[i] = 1; // set
}
""",
        """
__global__ void k(float *a, int n)
{
  #pragma unroll
  for (int item = 0; item < 2; item++) {
    const unsigned i = blockDim.x * (blockIdx.x * 2 + item) + threadIdx.x;
    if (i >= n)
    {
      continue;
    }
    a[i] = 1; // set
  }
}
""",
    ),
    "variables with a value before the work": (
        "coarsen_K2",
        """
__global__ void k(const float *a, float *b, int n) {
    float sum = 0;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        for (int j = 0; j < 4; j++) sum += a[4 * i + j];
        b[i] = sum;
    }
}
""",
        """
__global__ void k(const float *a, float *b, int n) {
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        float sum = 0;
        int i = (blockIdx.x * 2 + item) * blockDim.x + threadIdx.x;
        if (i < n) {
            for (int j = 0; j < 4; j++) sum += a[4 * i + j];
            b[i] = sum;
        }
    }
}
""",
    ),
    "variables without one": (
        "coarsen_K2",
        """
__global__ void k(float *a, int n) {
    float x, y;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x = a[i];
        y = x + 1;
        a[i] = x * y;
    }
}
""",
        """
__global__ void k(float *a, int n) {
    float x, y;
    int i = blockIdx.x * 2 * blockDim.x + threadIdx.x;
    #pragma unroll
    for (int item = 0; item < 2 && i < n; item++, i += blockDim.x) {
        x = a[i];
        y = x + 1;
        a[i] = x * y;
    }
}
""",
    ),
    "an index with something added": (
        "coarsen_K2",
        """
__global__ void k(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (i < n - 1) {
        a[i] = 0;
    }
}
""",
        """
__global__ void k(float *a, int n) {
    int i = blockIdx.x * 2 * blockDim.x + threadIdx.x + 1;
    #pragma unroll
    for (int item = 0; item < 2 && i < n - 1; item++, i += blockDim.x) {
        a[i] = 0;
    }
}
""",
    ),
    "two dimensions, along x": (
        "coarsen_K2",
        """
__global__ void k(float *a, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) {
        a[y * w + x] = x - y;
    }
}
""",
        """
__global__ void k(float *a, int w, int h) {
    int x = blockIdx.x * 2 * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    #pragma unroll
    for (int item = 0; item < 2 && x < w && y < h; item++, x += blockDim.x) {
        a[y * w + x] = x - y;
    }
}
""",
    ),
    "two dimensions, along y": (
        "coarsen_K4y",
        """
__global__ void k(float *a, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    a[y * w + x] = x - y;
}
""",
        """
__global__ void k(float *a, int w, int h) {
    #pragma unroll
    for (int item = 0; item < 4; item++) {
        int x = blockIdx.x * blockDim.x + threadIdx.x;
        int y = (blockIdx.y * 4 + item) * blockDim.y + threadIdx.y;
        if (x >= w || y >= h)
            continue;
        a[y * w + x] = x - y;
    }
}
""",
    ),
    "a loop over the grid": (
        "coarsen_K2",
        """
__global__ void k(float *a, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        a[i] = sqrtf(a[i]);
}
""",
        """
__global__ void k(float *a, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        a[i] = sqrtf(a[i]);
}
""",
    ),
    "a name that is taken": (
        "coarsen_K2",
        """
__global__ void k(float *item, int n) {
    int i = __umul24(blockIdx.x, blockDim.x) + threadIdx.x;
    if (i < n) item[i] = 0;
}
""",
        """
__global__ void k(float *item, int n) {
    int i = __umul24(blockIdx.x * 2, blockDim.x) + threadIdx.x;
    #pragma unroll
    for (int item2 = 0; item2 < 2 && i < n; item2++, i += blockDim.x) item[i] = 0;
}
""",
    ),
    "the number of the block elsewhere": (
        "coarsen_K2",
        """
__global__ void k(float *a, float *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        a[i] = b[blockIdx.x];
    }
}
""",
        """
__global__ void k(float *a, float *b, int n) {
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        int i = (blockIdx.x * 2 + item) * blockDim.x + threadIdx.x;
        if (i < n) {
            a[i] = b[(blockIdx.x * 2 + item)];
        }
    }
}
""",
    ),
}
