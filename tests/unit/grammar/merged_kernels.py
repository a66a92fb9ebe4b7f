"""The kernels of ``merge_kernels.py``, with two blocks along x merged."""

from __future__ import annotations

AFTER = {
    "all pairs": """\
    __shared__ float theirs[8];
    int i[2];
    float x[2];
    float sum[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        i[item] = (blockIdx.x * 2 + item) * 8 + threadIdx.x;
        x[item] = i[item] < n ? a[i[item]] : 0; sum[item] = 0;
    }
    for (int j = 0; j < n; j += 8) {
        theirs[threadIdx.x] = j + threadIdx.x < n ? b[j + threadIdx.x] : 0;
        __syncthreads();
        for (int t = 0; t < 8; t++) {
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                sum[item] += x[item] * theirs[t];
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (i[item] < n) c[i[item]] = sum[item];
    }
""",
    "an early return": """\
    unsigned gone = 0;
    __shared__ float tile[2][8];
    int i[2];
    float sum[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        i[item] = (blockIdx.x * 2 + item) * blockDim.x + threadIdx.x;
        if (i[item] >= n) { gone |= 1u << item; continue; }
        sum[item] = 0;
    }
    if (gone == 3) return;
    for (int j = 0; j < m; j++) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            if (gone >> item & 1) continue;
            tile[item][threadIdx.x] = a[i[item] * m + j];
        }
        __syncthreads();
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            if (gone >> item & 1) continue;
            sum[item] += tile[item][threadIdx.x] + b[j];
        }
        __syncthreads();
    }
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (gone >> item & 1) continue;
        c[i[item]] = sum[item];
    }
""",
    "tiles without a limit": """\
    if (blockIdx.x * 2 >= gridDim.x) return;
    __shared__ float tile[2][8][9];
    int x[2];
    int y = blockIdx.y * 8 + threadIdx.y;
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        x[item] = min(blockIdx.x * 2 + item, gridDim.x - 1) * 8 + threadIdx.x;
        tile[item][threadIdx.y][threadIdx.x] = a[y * (n + 8) + x[item]];
    }
    __syncthreads();
    float sum[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        sum[item] = 0;
    }
    for (int t = 0; t < 8; t++) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            sum[item] += tile[item][threadIdx.y][t] * tile[item][t][threadIdx.x];
        }
    }
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (blockIdx.x * 2 + item >= gridDim.x) continue;
        c[y * (n + 8) + x[item]] = sum[item];
    }
""",
    "sums of rows": """\
    if (blockIdx.x * 2 >= gridDim.x) return;
    __shared__ float sums[2][8];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        sums[item][threadIdx.x] = 0;
    }
    for (int j = threadIdx.x; j < m; j += 8) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            sums[item][threadIdx.x] += a[min(blockIdx.x * 2 + item, gridDim.x - 1) * m + j] * b[j];
        }
    }
    for (int half = 4; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                sums[item][threadIdx.x] += sums[item][threadIdx.x + half];
            }
        }
    }
    if (threadIdx.x == 0) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            if (blockIdx.x * 2 + item >= gridDim.x) continue;
            c[min(blockIdx.x * 2 + item, gridDim.x - 1)] = sums[item][0];
        }
    }
""",
    "a row that there may not be": """\
    __shared__ float most[2];
    int row[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        row[item] = (blockIdx.x * 2 + item);
    }
    if (threadIdx.x == 0) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            most[item] = row[item] < n ? a[row[item] * m] : 0;
        }
    }
    __syncthreads();
    for (int j = threadIdx.x; j < m; j += blockDim.x) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            if (row[item] < n) c[row[item] * m + j] = b[row[item] * m + j] - most[item];
        }
    }
""",
    "a stencil": """\
    __shared__ float near[2][8 + 2];
    const int t = threadIdx.x + 1;
    unsigned int i[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        i[item] = (blockIdx.x * 2 + item) * 8 + threadIdx.x;
        near[item][t] = i[item] < n ? a[i[item]] : 0;
    }
    if (t == 1) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            near[item][0] = i[item] > 0 && i[item] < n ? a[i[item] - 1] : 0;
        }
    }
    if (t == 8) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            near[item][9] = i[item] + 1 < n ? a[i[item] + 1] : 0;
        }
    }
    __syncthreads();
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (i[item] < n)
            c[i[item]] = near[item][t - 1] + 2 * near[item][t] + near[item][t + 1];
    }
""",
    "a histogram": """\
    __shared__ int counts[2][4];
    if (threadIdx.x < 4) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            counts[item][threadIdx.x] = 0;
        }
    }
    __syncthreads();
    int i[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        i[item] = (blockIdx.x * 2 + item) * blockDim.x + threadIdx.x;
        if (i[item] < n) atomicAdd(&counts[item][(int)(a[i[item]] * 4)], 1);
    }
    __syncthreads();
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (i[item] < n) c[i[item]] = counts[item][(int)(a[i[item]] * 4)];
    }
""",
    "a transposition": """\
    __shared__ float tile[2][8][9];
    int x[2];
    int y[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        x[item] = (blockIdx.x * 2 + item) * 8 + threadIdx.x; y[item] = blockIdx.y * 8 + threadIdx.y;
        if (x[item] < n && y[item] < m)
            tile[item][threadIdx.y][threadIdx.x] = a[y[item] * n + x[item]];
    }
    __syncthreads();
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        x[item] = blockIdx.y * 8 + threadIdx.x;
        y[item] = (blockIdx.x * 2 + item) * 8 + threadIdx.y;
        if (y[item] < n && x[item] < m)
            c[y[item] * m + x[item]] = tile[item][threadIdx.x][threadIdx.y];
    }
""",
    "a product of matrices": """\
    __shared__ float left[8][8];
    __shared__ float right[2][8][8];
    int tx = threadIdx.x;
    int x[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        x[item] = (blockIdx.x * 2 + item) * 8 + tx;
    }
    int ty = threadIdx.y, y = blockIdx.y * 8 + ty;
    float sum[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        sum[item] = 0.0f;
    }
    for (int j = 0; j < n; j += 8) {
        left[ty][tx] = y < m && j + tx < n ? a[y * n + j + tx] : 0;
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            right[item][ty][tx] = x[item] < n && j + ty < m ? b[(j + ty) * n + x[item]] : 0;
        }
        __syncthreads();
        #pragma unroll
        for (int t = 0; t < 8; t++) {
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                sum[item] += left[ty][t] * right[item][t][tx];
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (x[item] < n && y < m) {
            c[y * n + x[item]] = sum[item];
        }
    }
""",
    "a pointer to shared memory": """\
    if (blockIdx.x * 2 >= gridDim.x) return;
    __shared__ float tile[2][16];
    int i[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (blockIdx.x * 2 + item >= gridDim.x) continue;
        float *mine = tile[item] + 8;
        float *const same = mine;
        i[item] = min(blockIdx.x * 2 + item, gridDim.x - 1) * 8 + threadIdx.x;
        same[threadIdx.x] = i[item] < n ? a[i[item]] : 0;
    }
    __syncthreads();
    float sum[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (blockIdx.x * 2 + item >= gridDim.x) continue;
        sum[item] = 0;
    }
    for (int t = 8; t < 16; t++) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            if (blockIdx.x * 2 + item >= gridDim.x) continue;
            sum[item] += tile[item][t];
        }
    }
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (blockIdx.x * 2 + item >= gridDim.x) continue;
        if (i[item] < n) c[i[item]] = sum[item];
    }
""",
    "a function that fills an array": """\
    __shared__ float row[2][8];
    int i[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        i[item] = (blockIdx.x * 2 + item) * 8 + threadIdx.x;
        if (i[item] < n) {
            fill(row[item], a, i[item]);
        }
    }
    __syncthreads();
    float sum[2][2] = {};
    for (int t = 0; t < 8; t++) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            if ((blockIdx.x * 2 + item) * 8 + t < n) sum[item][t % 2] += row[item][t];
        }
    }
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (i[item] < n) c[i[item]] = sum[item][0] - sum[item][1];
    }
""",
    "a break for all items": """\
    __shared__ float tile[8];
    int i[2];
    float sum[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        i[item] = (blockIdx.x * 2 + item) * 8 + threadIdx.x;
        sum[item] = (0);
    }
    for (int j = 0; ; j += 8) {
        if (j >= n) break;
        tile[threadIdx.x] = j + threadIdx.x < n ? a[j + threadIdx.x] : 0;
        __syncthreads();
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            if (i[item] < n) {
                sum[item] += tile[i[item] % 8];
            }
        }
        __syncthreads();
    }
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (i[item] < n) c[i[item]] = sum[item];
    }
""",
    "a loop of its own length": """\
    static __shared__ float tile[2][8];
    int i[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        i[item] = (blockIdx.x * 2 + item) * 8 + threadIdx.x;
        tile[item][threadIdx.x] = i[item] < n ? a[i[item]] : 0;
    }
    __syncthreads();
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        float sum = 0;
        for (int j = 0; j < i[item] % 8; j++) {
            if (tile[item][j] > 0.9f) continue;
            sum += tile[item][j];
        }
        if (i[item] < n) c[i[item]] = sum;
    }
""",
    "a variable in two blocks": """\
    __shared__ float tile[2][8];
    int i[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        i[item] = (blockIdx.x * 2 + item) * 8 + threadIdx.x;
        tile[item][threadIdx.x] = i[item] < n ? a[i[item]] : 0;
    }
    __syncthreads();
    float one[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        one[item] = 0;
    }
    for (int t = 0; t < 8; t++) {
        float more[2];
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            more[item] = tile[item][t];
        }
        for (int j = 0; j < 2; j++) {
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                more[item] *= b[j];
            }
        }
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            one[item] += more[item];
        }
    }
    if (n > 3) {
        float more[2];
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            more[item] = one[item];
        }
        for (int j = 0; j < 2; j++) {
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                more[item] += b[j];
            }
        }
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            if (i[item] < n) c[i[item]] = more[item];
        }
    }
""",
}
