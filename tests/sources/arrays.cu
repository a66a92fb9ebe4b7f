// Arrays against scalars: of one and two dimensions, as parameters, in shared memory, of pointers.
#define SIDE 4
__device__ int trace(const int grid[SIDE][SIDE]) { int t = 0; for (int k = 0; k < SIDE; k++) t += grid[k][k]; return t; }
__device__ void fill(int row[], int value) { for (int k = 0; k < SIDE; ++k) row[k] = value; }

__global__ void arrays(int *out, const int *in, int n)
{
    __shared__ int tile[SIDE][SIDE + 1];
    __shared__ float weights[SIDE];
    int grid[SIDE][SIDE], row[SIDE] = {1, 2, 3, 4};
    int *rows[2] = {row, out};
    int i = threadIdx.x, single = 0;
    float cube[2][2][2];
    fill(row, in[i]);
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            grid[y][x] = in[y * SIDE + x];
            tile[x][y] = grid[y][x];
            cube[x & 1][y & 1][0] = weights[x];
        }
    fill(grid[1], single);
    single = trace(grid) + tile[i % SIDE][0];
    rows[i & 1][0] = single;
    out[i] = row[single & 3] + sizeof(row) / sizeof(row[0]) + (int)cube[0][1][i & 1];
    weights[i & 3] = *rows[0];
    int (*line)[SIDE] = grid;
    out[n] = line[1][2];
}
