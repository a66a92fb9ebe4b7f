// Several kernels, some of one name.
namespace a {
__global__ void scale(float *values, int n) { if (threadIdx.x < n) values[threadIdx.x] *= 2; }
}
namespace b {
__global__ void scale(float *values, int n) { if (threadIdx.x < n) values[threadIdx.x] *= 3; }
}
__global__ void shift(float *values, int n) { if (threadIdx.x < n) values[threadIdx.x] += 1; }
__global__ void shift(double *values, int n) { if (threadIdx.x < n) values[threadIdx.x] += 1; }
__global__ void whole(int *lambda, float in, int N) { if (threadIdx.x < N) lambda[threadIdx.x] = in; }
