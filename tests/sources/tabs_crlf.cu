// gi-config:
// gi-config: VECTOR=1
// gi-config: DOUBLE=1 VECTOR=1
#define WIDTH 4
#ifdef DOUBLE
typedef double real;
#else
typedef float real;
#endif
__device__ int counter;
__device__ void tick(int by) {
	int old = atomicAdd(&counter, by);
	if (old > 10)
		atomicExch(&counter, 0);
}
__global__ void axpy(real *y, const real *x, real a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef VECTOR
	int x4 = i * WIDTH;
	int step = WIDTH;
	for (i = x4; i < n; i += step)
		y[i] += a * x[i];
	tick(step);
#else
	float x4 = 1.0f;
	if (i < n) {
		y[i] += a * x[i] * x4;

		// counted
		tick(1);
	}
	x4 += 1.0f;
	y[0] = x4;
#endif
#if WIDTH == 4
	if (i == 0)
		y[n] = 1;
	else
		y[n] = 2;
#elif WIDTH == 2
	undefined_here(y);
#endif
}
