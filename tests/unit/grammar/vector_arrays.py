"""Kernels before and after vector accesses: which arrays they access."""

ARRAYS = {
    "an index that the work uses by itself, and a gather": (
        "vector_K4",
        """\
__global__ void gather(const int *where, const float *table, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float found = table[where[i]];
        out[i] = found * i + table[0];
    }
}
""",
        """\
__global__ void gather(const int *where, const float *table, float *out, int n) {
    int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 3 < n && ((size_t)where | (size_t)out) % 16 == 0) {
        __align__(16) int where4[4];
        __align__(16) float out4[4];
        *reinterpret_cast<int4 *>(where4) = *reinterpret_cast<const int4 *>(where + first);
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            const int i = first + k;
            float found = table[where4[k]];
            out4[k] = found * i + table[0];
        }
        *reinterpret_cast<float4 *>(out + first) = *reinterpret_cast<const float4 *>(out4);
    } else {
        for (int i = first; i < n && i < first + 4; i++) {
            float found = table[where[i]];
            out[i] = found * i + table[0];
        }
    }
}
""",
    ),
    "elements that are written in both branches, or in one": (
        "vector_K4",
        """\
__global__ void split(const float *x, float *low, float *high, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (x[i] < 0) {
            low[i] = x[i];
        } else {
            low[i] = 0;
            high[i] = x[i];
        }
    }
}
""",
        """\
__global__ void split(const float *x, float *low, float *high, int n) {
    int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 3 < n && ((size_t)x | (size_t)low) % 16 == 0) {
        __align__(16) float x4[4], low4[4];
        *reinterpret_cast<float4 *>(x4) = *reinterpret_cast<const float4 *>(x + first);
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            const int i = first + k;
            if (x4[k] < 0) {
                low4[k] = x4[k];
            } else {
                low4[k] = 0;
                high[i] = x4[k];
            }
        }
        *reinterpret_cast<float4 *>(low + first) = *reinterpret_cast<const float4 *>(low4);
    } else {
        for (int i = first; i < n && i < first + 4; i++) {
            if (x[i] < 0) {
                low[i] = x[i];
            } else {
                low[i] = 0;
                high[i] = x[i];
            }
        }
    }
}
""",
    ),
    "small elements": (
        "vector_K16",
        """\
__global__ void invert(const unsigned char *from, unsigned char *to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        to[i] = 255 - from[i];
    }
}
""",
        """\
__global__ void invert(const unsigned char *from, unsigned char *to, int n) {
    int first = 16 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 15 < n && ((size_t)from | (size_t)to) % 16 == 0) {
        __align__(16) unsigned char from16[16], to16[16];
        *reinterpret_cast<uint4 *>(from16) = *reinterpret_cast<const uint4 *>(from + first);
        #pragma unroll
        for (int k = 0; k < 16; k++) {
            to16[k] = 255 - from16[k];
        }
        *reinterpret_cast<uint4 *>(to + first) = *reinterpret_cast<const uint4 *>(to16);
    } else {
        for (int i = first; i < n && i < first + 16; i++) {
            to[i] = 255 - from[i];
        }
    }
}
""",
    ),
    "elements of half precision": (
        "vector_K8",
        """\
#include <cuda_fp16.h>
__global__ void twice(const __half *x, __half *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = __hadd(x[i], x[i]);
    }
}
""",
        """\
#include <cuda_fp16.h>
__global__ void twice(const __half *x, __half *y, int n) {
    int first = 8 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 7 < n && ((size_t)x | (size_t)y) % 16 == 0) {
        __align__(16) __half x8[8], y8[8];
        *reinterpret_cast<uint4 *>(x8) = *reinterpret_cast<const uint4 *>(x + first);
        #pragma unroll
        for (int k = 0; k < 8; k++) {
            y8[k] = __hadd(x8[k], x8[k]);
        }
        *reinterpret_cast<uint4 *>(y + first) = *reinterpret_cast<const uint4 *>(y8);
    } else {
        for (int i = first; i < n && i < first + 8; i++) {
            y[i] = __hadd(x[i], x[i]);
        }
    }
}
""",
    ),
    "arrays of two widths, and names that are taken": (
        "vector_K2",
        """\
__global__ void mix(const double *p1, const short *p2, double *first, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        first[i] = p1[i] * p2[i] + k;
    }
}
""",
        """\
__global__ void mix(const double *p1, const short *p2, double *first, int n, int k) {
    int first2 = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first2 + 1 < n && (size_t)p2 % 4 == 0 && ((size_t)p1 | (size_t)first) % 16 == 0) {
        __align__(16) double p1_2[2], first22[2];
        __align__(4) short p2_2[2];
        *reinterpret_cast<double2 *>(p1_2) = *reinterpret_cast<const double2 *>(p1 + first2);
        *reinterpret_cast<short2 *>(p2_2) = *reinterpret_cast<const short2 *>(p2 + first2);
        #pragma unroll
        for (int k2 = 0; k2 < 2; k2++) {
            first22[k2] = p1_2[k2] * p2_2[k2] + k;
        }
        *reinterpret_cast<double2 *>(first + first2) = *reinterpret_cast<const double2 *>(first22);
    } else {
        for (int i = first2; i < n && i < first2 + 2; i++) {
            first[i] = p1[i] * p2[i] + k;
        }
    }
}
""",
    ),
    "loads by __ldg, and elements of another item": (
        "vector_K4",
        """\
__global__ void slope(const float *__restrict__ x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = __ldg(&x[i]) - (i > 0 ? x[i - 1] : 0);
    }
}
""",
        """\
__global__ void slope(const float *__restrict__ x, float *y, int n) {
    int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 3 < n && ((size_t)x | (size_t)y) % 16 == 0) {
        __align__(16) float x4[4], y4[4];
        *reinterpret_cast<float4 *>(x4) = *reinterpret_cast<const float4 *>(x + first);
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            const int i = first + k;
            y4[k] = x4[k] - (i > 0 ? x[i - 1] : 0);
        }
        *reinterpret_cast<float4 *>(y + first) = *reinterpret_cast<const float4 *>(y4);
    } else {
        for (int i = first; i < n && i < first + 4; i++) {
            y[i] = __ldg(&x[i]) - (i > 0 ? x[i - 1] : 0);
        }
    }
}
""",
    ),
    "a condition that is broken into lines, and an empty line in the work": (
        "vector_K4",
        """\
__global__ void move(float *place_x, float *place_y, float *place_z, const float *speed, int n) {
    auto i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        place_x[i] += speed[i];

        // The other two stay behind.
        place_y[i] = place_z[i];
    }
}
""",
        """\
__global__ void move(float *place_x, float *place_y, float *place_z, const float *speed, int n) {
    auto first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 3 < n && ((size_t)place_x | (size_t)place_y | (size_t)place_z
            | (size_t)speed) % 16 == 0) {
        __align__(16) float place_x4[4], place_y4[4], place_z4[4], speed4[4];
        *reinterpret_cast<float4 *>(place_x4) = *reinterpret_cast<const float4 *>(place_x + first);
        *reinterpret_cast<float4 *>(place_z4) = *reinterpret_cast<const float4 *>(place_z + first);
        *reinterpret_cast<float4 *>(speed4) = *reinterpret_cast<const float4 *>(speed + first);
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            place_x4[k] += speed4[k];

            // The other two stay behind.
            place_y4[k] = place_z4[k];
        }
        *reinterpret_cast<float4 *>(place_x + first) = *reinterpret_cast<const float4 *>(place_x4);
        *reinterpret_cast<float4 *>(place_y + first) = *reinterpret_cast<const float4 *>(place_y4);
    } else {
        for (auto i = first; i < n && i < first + 4; i++) {
            place_x[i] += speed[i];

            // The other two stay behind.
            place_y[i] = place_z[i];
        }
    }
}
""",
    ),
}
