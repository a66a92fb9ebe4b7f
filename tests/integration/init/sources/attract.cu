#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#define BLOCK_SIZE 256
#define SOFTENING 1e-9f


typedef struct { float x, y, z, vx, vy, vz; int kind; } Star;

__global__
void attract(Star *p, float dt, int n) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) {
    float Fx = 0.0f; float Fy = 0.0f; float Fz = 0.0f;
    for (int j = 0; j < n; j++) {
      float dx = p[j].x - p[i].x;
      float dy = p[j].y - p[i].y;
      float dz = p[j].z - p[i].z;
      float distSqr = dx*dx + dy*dy + dz*dz + SOFTENING;
      float invDist = rsqrtf(distSqr);
      float invDist3 = invDist * invDist * invDist;
      Fx += dx * invDist3; Fy += dy * invDist3; Fz += dz * invDist3;
    }
    p[i].vx += dt*Fx; p[i].vy += dt*Fy; p[i].vz += dt*Fz;
  }
}
int main(const int argc, const char** argv) {
  int stars = 30000;
  if (argc > 1) stars = atoi(argv[1]);
  const float dt = 0.01f;
  int nBlocks = (stars + BLOCK_SIZE - 1) / BLOCK_SIZE;
  Star *d_p; cudaMalloc(&d_p, stars*sizeof(Star));
  attract<<<nBlocks, BLOCK_SIZE>>>(d_p, dt, stars);
}
