#include <cstdio>
const int TILE_DIM = 32;
const int BLOCK_ROWS = 8;
__global__ void transpose(float *odata, const float *idata) {
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  int width = gridDim.x * TILE_DIM;
  for (int j = 0; j < TILE_DIM; j+= BLOCK_ROWS)
    odata[x*width + (y+j)] = idata[(y+j)*width + x];
}
int main() {
  const int nx = 128;
  const int ny = 128;
  dim3 dimGrid(nx/TILE_DIM, ny/TILE_DIM, 1);
  dim3 dimBlock(TILE_DIM, BLOCK_ROWS, 1);
  const int mem_size = nx*ny*sizeof(float);
  float *d_idata, *d_tdata;
  cudaMalloc(&d_idata, mem_size); cudaMalloc(&d_tdata, mem_size);
  transpose<<<dimGrid, dimBlock>>>(d_tdata, d_idata);
}
