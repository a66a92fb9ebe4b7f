// Five-point stencil with a configuration space in its #if lines.
// gi-config: BLOCK_W=32 CACHE=1
// gi-config: BLOCK_W=64
// gi-config: BLOCK_W=16 CACHE=2 WRAP=1
#include <stdio.h>

#ifndef BLOCK_W
#define BLOCK_W 32
#endif
#ifndef CACHE
#define CACHE 0
#endif

#if CACHE > 1 && !defined(WRAP)
#error "a wide cache needs WRAP"
#endif

#define AT(x, y) ((y) * width + (x))
#define CLAMP(v, lo, hi) ((v) < (lo) ? (lo) : (v) > (hi) ? (hi) : (v))

__constant__ float weights[5];

__device__ __forceinline__ int wrap(int v, int n)
{
#ifdef WRAP
	if (v < 0) v += n;
	if (v >= n)
		v -= n;
#else
	v = CLAMP(v, 0, n - 1);
#endif
	return v;
}

static __device__ float load(const float *grid, int width, int height, int x, int y)
{
	int cx, cy;
	cx = wrap(x, width);
	cy = wrap(y, height);
	return grid[AT(cx, cy)];
}

__global__ void stencil(const float *in, float *out, const int *mask, int width, int height)
{
#if CACHE >= 1
	__shared__ float tile[BLOCK_W + 2][BLOCK_W + 2];
	int lx = threadIdx.x + 1, ly = threadIdx.y + 1;
#endif
	int x = blockIdx.x * BLOCK_W + threadIdx.x;
	int y = blockIdx.y * BLOCK_W + threadIdx.y;
	float sum = 0.0f, centre;

#if CACHE >= 1
	tile[ly][lx] = load(in, width, height, x, y);
	if (threadIdx.x == 0) {
		tile[ly][0] = load(in, width, height, x - 1, y);
		tile[ly][BLOCK_W + 1] = load(in, width, height, x + BLOCK_W, y);
	}
	if (threadIdx.y == 0)
	{
		tile[0][lx] = load(in, width, height, x, y - 1);
		tile[BLOCK_W + 1][lx] = load(in, width, height, x, y + BLOCK_W);
	}
	__syncthreads();
#endif
	if (x >= width || y >= height)
		return;
	if (mask[AT(x, y)]) {
		int k = 0;
#if CACHE >= 1
		centre = tile[ly][lx];
		sum += weights[k++] * centre;
		sum += weights[k++] * tile[ly][lx - 1];
		sum += weights[k++] * tile[ly][lx + 1];
		sum += weights[k++] * tile[ly - 1][lx];
		sum += weights[k++] * tile[ly + 1][lx];
#else
		const int dx[5] = {0, -1, 1, 0, 0};
		const int dy[5] = {0, 0, 0, -1, 1};
		centre = load(in, width, height, x, y);
		#pragma unroll
		for (int d = 0; d < 5; d++) {
			float value = load(in, width, height, x + dx[d], y + dy[d]);
			sum += weights[k] * value;
			k++;
		}
#endif
	} else if (mask[AT(x, y)] < 0) {
		centre = 0;
		sum = -1.0f;
	} else
		sum = centre = load(in, width, height, x, y);
	out[AT(x, y)] = sum + 0.001f * centre;
}

int main(void)
{
	float *in, *out; int *mask;
	cudaMalloc((void **)&in, 1 << 20); cudaMalloc((void **)&out, 1 << 20);
	cudaMalloc((void **)&mask, 1 << 20);
	dim3 grid(4, 4), block(BLOCK_W, BLOCK_W);
	stencil<<<grid, block>>>(in, out, mask, 128, 128);
	for (int i = 0; i < 10; i++) printf("%d\n", i);
	return cudaDeviceSynchronize() != cudaSuccess;
}
