// Alignment by anti-diagonals: warps exchange by shuffle, dynamic shared memory between warps.
#define MATCH 3
#define MISMATCH (-2)
#define GAP_OPEN 5
#define GAP_EXTEND 1
#define WARP 32
#ifdef LARGE
#define LIMIT 1024
#else
#define LIMIT 256
#endif

__inline__ __device__ short warp_max(short value, short &index)
{
    int mask = __activemask();
    short best = value, best_index = index;
    for (int offset = WARP / 2; offset > 0; offset /= 2) {
        short other = __shfl_down_sync(mask, best, offset);
        short other_index = __shfl_down_sync(mask, best_index, offset);
        if (other > best) {
            best = other;
            best_index = other_index;
        } else if (other == best && other_index < best_index)
            best_index = other_index;
    }
    index = best_index;
    return best;
}

__device__ __forceinline__ int max4(int a, int b, int c, int d) {
    int e = a > b ? a : b, f = c > d ? c : d;
    return e > f ? e : f;
}

__global__ void align(const char *a, const char *b, const unsigned *starts_a, const unsigned *starts_b,
                      short *score, short *end_a, short *end_b)
{
    extern __shared__ char memory[];
    short *border = (short *)memory;
    __shared__ bool is_valid[LIMIT];
    unsigned block = blockIdx.x, thread_Id = threadIdx.x;
    short laneId = threadIdx.x % WARP, warpId = threadIdx.x / WARP;
    unsigned first_a = block ? starts_a[block - 1] : 0, first_b = block ? starts_b[block - 1] : 0;
    unsigned length_a = starts_a[block] - first_a, length_b = starts_b[block] - first_b;
    unsigned maxSize = length_a > length_b ? length_a : length_b;
    unsigned minSize = length_a < length_b ? length_a : length_b;
    const char *longer = length_a > length_b ? a + first_a : b + first_b;
    const char *shorter = length_a > length_b ? b + first_b : a + first_a;
    char mine = 0;
    short h = 0, h_left = 0, h_diag = 0, e = 0, f = 0, best = 0;
    int i = 1, j = thread_Id + 1;
    int thread_max_i = 0, thread_max_j = 0;

    is_valid[thread_Id] = thread_Id == 0;
    if (thread_Id < minSize)
        mine = shorter[thread_Id];
    __syncthreads();
    for (int diag = 0; diag < length_a + length_b - 1; diag++) {
        is_valid[thread_Id] = is_valid[thread_Id] || diag == thread_Id;
        h_diag = h_left;
        h_left = __shfl_up_sync(0xffffffff, h, 1);
        if (laneId == 0 && warpId > 0) {
            h_left = border[warpId - 1];
        }
        __syncthreads();
        if (laneId == 31) border[warpId] = h;
        if (diag >= maxSize) {
            is_valid[thread_Id - (diag - maxSize)] = false;
        }
        if (is_valid[thread_Id] && thread_Id < minSize) {
            short s = mine == longer[i - 1] ? MATCH : MISMATCH;
            e = max(h - GAP_OPEN, e - GAP_EXTEND);
            f = max(h_left - GAP_OPEN, f - GAP_EXTEND);
            h = max4(h_diag + s, e, f, 0);
            if (h > best) {
                best = h;
                thread_max_i = i;
                thread_max_j = j;
            }
            i++;
        }
        __syncthreads();
    }
    short index = thread_max_i;
    best = warp_max(best, index);
    if (laneId == 0) {
        atomicMax((int *)score + block, (int)best);
        end_a[block] = index;
        end_b[block] = thread_max_j;
    }
}
