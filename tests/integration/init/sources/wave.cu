#include <cuda_runtime.h>
#include <stdio.h>
#define BLOCK_DIM_X 32
#define BLOCK_DIM_Y 8
#define C(x,y) c[(y)*nx+(x)]
struct Params { float dt; float h; };
__constant__ Params params;
__constant__ float damping[4];
extern "C" __global__ __launch_bounds__(BLOCK_DIM_X*BLOCK_DIM_Y)
void wave3(float *__restrict__ next, const float *__restrict__ c, float *prev, const int nx, const int ny, bool damp)
{
  int x = blockIdx.x*BLOCK_DIM_X+threadIdx.x, y = blockIdx.y*BLOCK_DIM_Y+threadIdx.y;
  if (x < 1 || y < 1 || x >= nx-1 || y >= ny-1) return;
  float lap = C(x-1,y)+C(x+1,y)+C(x,y-1)+C(x,y+1)-4*C(x,y);
  float v = 2*C(x,y) - prev[y*nx+x] + params.dt*params.dt*lap;
  if (damp) v *= damping[x & 3];
  next[y*nx+x] = v;
}
