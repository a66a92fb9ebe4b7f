"""Loops before and after wide accesses."""

from __future__ import annotations

from tests.unit.grammar.wide_elements import OTHER_ELEMENTS

HEAD = "__global__ void k(const float *a, const float *b, float *c, int n) {\n"

LOOPS = {
    "threads of a block that share a row": (
        "wide_K4",
        HEAD,
        """\
    __shared__ float part[64];
    float sum = 0;
LOOP    }
    part[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0;
        for (int t = 0; t < blockDim.x; t++) sum += part[t];
        c[blockIdx.x * n] = sum;
    }
""",
        """\
    for (int j = threadIdx.x; j < n; j += blockDim.x) {
        sum += a[blockIdx.x * n + j];
""",
        """\
    for (int first = 4 * threadIdx.x; first < n; first += 4 * blockDim.x) {
        if (first + 3 < n && (size_t)(a + blockIdx.x * n) % 16 == 0) {
            __align__(16) float a4[4];
            *reinterpret_cast<float4 *>(a4) =
                    *reinterpret_cast<const float4 *>(a + blockIdx.x * n + first);
            #pragma unroll
            for (int k2 = 0; k2 < 4; k2++) {
                sum += a4[k2];
            }
        } else {
            for (int j = first; j < n && j < first + 4; j++) {
                sum += a[blockIdx.x * n + j];
            }
        }
""",
    ),
    "lanes of a warp, an index that is a variable, and a condition": (
        "wide_K2",
        HEAD,
        """\
    const int lane = threadIdx.x % 32, row = blockIdx.x * n;
    int count = 0;
LOOP        }
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        count += __shfl_xor_sync(0xffffffff, count, offset);
    }
    if (threadIdx.x == 0) c[row] = count;
""",
        """\
    for (int j = lane; j < n; j += 32) {
        const int at = row + j;
        if (a[at] > b[at] || (a[at] == b[at] && j > 3)) {
            ++count;
""",
        """\
    for (int first = 2 * lane; first < n; first += 64) {
        if (first + 1 < n && ((size_t)(a + row) | (size_t)(b + row)) % 8 == 0) {
            __align__(8) float a2[2], b2[2];
            *reinterpret_cast<float2 *>(a2) = *reinterpret_cast<const float2 *>(a + row + first);
            *reinterpret_cast<float2 *>(b2) = *reinterpret_cast<const float2 *>(b + row + first);
            #pragma unroll
            for (int k2 = 0; k2 < 2; k2++) {
                const int j = first + k2;
                const int at = row + j;
                if (a2[k2] > b2[k2] || (a2[k2] == b2[k2] && j > 3)) {
                    ++count;
                }
            }
        } else {
            for (int j = first; j < n && j < first + 2; j++) {
                const int at = row + j;
                if (a[at] > b[at] || (a[at] == b[at] && j > 3)) {
                    ++count;
                }
            }
""",
    ),
    "a loop of one thread, without braces": (
        "wide_K4",
        HEAD,
        """\
    const float *row = a + (blockIdx.x * blockDim.x + threadIdx.x) * n;
    float product = 1;
    #pragma unroll 2
LOOP    c[(blockIdx.x * blockDim.x + threadIdx.x) * n] = product;
""",
        """\
    for (int j = 0; j < n; j++)
        product = 0.5f * product + row[j] * __ldg(&b[j]);
""",
        """\
    for (int first = 0; first < n; first += 4) {
        if (first + 3 < n && ((size_t)b | (size_t)row) % 16 == 0) {
            __align__(16) float b4[4], row4[4];
            *reinterpret_cast<float4 *>(b4) = *reinterpret_cast<const float4 *>(b + first);
            *reinterpret_cast<float4 *>(row4) = *reinterpret_cast<const float4 *>(row + first);
            #pragma unroll
            for (int k2 = 0; k2 < 4; k2++) {
                product = 0.5f * product + row4[k2] * b4[k2];
            }
        } else {
            for (int j = first; j < n && j < first + 4; j++) {
                product = 0.5f * product + row[j] * __ldg(&b[j]);
            }
        }
    }
""",
    ),
    "a loop of one thread that begins later, with a brace on a line by itself": (
        "wide_K2",
        HEAD,
        """\
    size_t row = blockIdx.x * blockDim.x + threadIdx.x;
    float last = 0;
LOOP    }
    c[row * n] = last;
""",
        """\
    for (unsigned j = row % 3; j <= n - 1; ++j)
    {
        last = last / 2 + a[j];
""",
        """\
    for (unsigned first = row % 3; first <= n - 1; first += 2)
    {
        if (first + 1 <= n - 1 && (size_t)a % 8 == 0)
        {
            __align__(8) float a2[2];
            *reinterpret_cast<float2 *>(a2) = *reinterpret_cast<const float2 *>(a + first);
            #pragma unroll
            for (int k2 = 0; k2 < 2; k2++)
            {
                last = last / 2 + a2[k2];
            }
        }
        else
        {
            for (unsigned j = first; j <= n - 1 && j < first + 2; j++)
            {
                last = last / 2 + a[j];
            }
        }
""",
    ),
    "elements that are loaded and stored": (
        "wide_K4",
        HEAD,
        """\
LOOP    }
""",
        """\
    for (int j = threadIdx.x; j < n; j += blockDim.x) {
        float x = c[j + blockIdx.x * n];
        c[j + blockIdx.x * n] = x > 4 ? x * b[j] : a[n - 1 - j];
""",
        """\
    for (int first = 4 * threadIdx.x; first < n; first += 4 * blockDim.x) {
        if (first + 3 < n && (size_t)(c + blockIdx.x * n) % 16 == 0) {
            __align__(16) float c4[4];
            *reinterpret_cast<float4 *>(c4) =
                    *reinterpret_cast<const float4 *>(c + blockIdx.x * n + first);
            #pragma unroll
            for (int k2 = 0; k2 < 4; k2++) {
                const int j = first + k2;
                float x = c4[k2];
                c4[k2] = x > 4 ? x * b[j] : a[n - 1 - j];
            }
            *reinterpret_cast<float4 *>(c + blockIdx.x * n + first) =
                    *reinterpret_cast<const float4 *>(c4);
        } else {
            for (int j = first; j < n && j < first + 4; j++) {
                float x = c[j + blockIdx.x * n];
                c[j + blockIdx.x * n] = x > 4 ? x * b[j] : a[n - 1 - j];
            }
        }
""",
    ),
    "elements that are stored alone, between barriers": (
        "wide_K4",
        HEAD,
        """\
    __shared__ float most;
    int row = blockIdx.x * n;
LOOP    __syncthreads();
    if (threadIdx.x == 0) {
        most = 0;
        for (int j = 0; j < n; j++) most = fmaxf(most, c[row + j]);
    }
    __syncthreads();
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        c[row + j] -= most;
""",
        """\
    for (int j = threadIdx.x; j < n; j += blockDim.x)
        c[row + j] = 2 * a[row + j];
""",
        """\
    for (int first = 4 * threadIdx.x; first < n; first += 4 * blockDim.x) {
        if (first + 3 < n && ((size_t)(a + row) | (size_t)(c + row)) % 16 == 0) {
            __align__(16) float a4[4], c4[4];
            *reinterpret_cast<float4 *>(a4) = *reinterpret_cast<const float4 *>(a + row + first);
            #pragma unroll
            for (int k2 = 0; k2 < 4; k2++) {
                c4[k2] = 2 * a4[k2];
            }
            *reinterpret_cast<float4 *>(c + row + first) = *reinterpret_cast<const float4 *>(c4);
        } else {
            for (int j = first; j < n && j < first + 4; j++) {
                c[row + j] = 2 * a[row + j];
            }
        }
    }
""",
    ),
    "threads in two dimensions": (
        "wide_K2",
        HEAD,
        """\
    int thread = threadIdx.y * blockDim.x + threadIdx.x;
    int threads = blockDim.x * blockDim.y;
LOOP    }
""",
        """\
    for (int j = thread; j < n; j += threads) {
        c[blockIdx.x * n + j] = j * a[j];
""",
        """\
    for (int first = 2 * thread; first < n; first += 2 * threads) {
        if (first + 1 < n && ((size_t)a | (size_t)(c + blockIdx.x * n)) % 8 == 0) {
            __align__(8) float a2[2], c2[2];
            *reinterpret_cast<float2 *>(a2) = *reinterpret_cast<const float2 *>(a + first);
            #pragma unroll
            for (int k2 = 0; k2 < 2; k2++) {
                const int j = first + k2;
                c2[k2] = j * a2[k2];
            }
            *reinterpret_cast<float2 *>(c + blockIdx.x * n + first) =
                    *reinterpret_cast<const float2 *>(c2);
        } else {
            for (int j = first; j < n && j < first + 2; j++) {
                c[blockIdx.x * n + j] = j * a[j];
            }
        }
""",
    ),
    "a sum that each thread keeps in shared memory, and names that are taken": (
        "wide_K4",
        HEAD,
        """\
    __shared__ float part[64];
    int first = threadIdx.x;
    part[threadIdx.x] = 0;
LOOP    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 1; t < blockDim.x; t++) part[0] += part[t];
        c[blockIdx.x * n] = part[0];
    }
""",
        """\
    for (int a4 = first; a4 < n; a4 += blockDim.x) part[threadIdx.x] += a[a4] * b[a4];
""",
        """\
    for (int first2 = 4 * first; first2 < n; first2 += 4 * blockDim.x) {
        if (first2 + 3 < n && ((size_t)a | (size_t)b) % 16 == 0) {
            __align__(16) float a42[4], b4[4];
            *reinterpret_cast<float4 *>(a42) = *reinterpret_cast<const float4 *>(a + first2);
            *reinterpret_cast<float4 *>(b4) = *reinterpret_cast<const float4 *>(b + first2);
            #pragma unroll
            for (int k2 = 0; k2 < 4; k2++) {
                part[threadIdx.x] += a42[k2] * b4[k2];
            }
        } else {
            for (int a4 = first2; a4 < n && a4 < first2 + 4; a4++) {
                part[threadIdx.x] += a[a4] * b[a4];
            }
        }
    }
""",
    ),
    "counts in shared memory": (
        "wide_K4",
        HEAD,
        """\
    __shared__ int counts[8];
    if (threadIdx.x < 8) counts[threadIdx.x] = 0;
    __syncthreads();
LOOP    __syncthreads();
    if (threadIdx.x < 8 && threadIdx.x < n) c[blockIdx.x * n + threadIdx.x] = counts[threadIdx.x];
""",
        """\
    for (int j = threadIdx.x; j < n; j += blockDim.x) atomicAdd(&counts[(int)a[j] & 7], 1);
""",
        """\
    for (int first = 4 * threadIdx.x; first < n; first += 4 * blockDim.x) {
        if (first + 3 < n && (size_t)a % 16 == 0) {
            __align__(16) float a4[4];
            *reinterpret_cast<float4 *>(a4) = *reinterpret_cast<const float4 *>(a + first);
            #pragma unroll
            for (int k2 = 0; k2 < 4; k2++) {
                atomicAdd(&counts[(int)a4[k2] & 7], 1);
            }
        } else {
            for (int j = first; j < n && j < first + 4; j++) {
                atomicAdd(&counts[(int)a[j] & 7], 1);
            }
        }
    }
""",
    ),
    **OTHER_ELEMENTS,
}
"""Each with a choice, the head, the body around the loop, and the loop before and after."""
