"""Loops over elements that are no floats, before and after wide accesses."""

from __future__ import annotations

OF_HEADER = "__global__ void k(const DTYPE *a, const float *b, DTYPE *c, int n) {\n"

OTHER_ELEMENTS = {
    "small elements": (
        "wide_K8",
        "__global__ void k(const unsigned char *a, short *b, int n, int from) {\n",
        """\
LOOP    }
""",
        """\
    for (int j = threadIdx.x; j < n; j += blockDim.x) {
        b[j] = a[j + from] + (j < 4 ? 1 : 0);
""",
        """\
    for (int first = 8 * threadIdx.x; first < n; first += 8 * blockDim.x) {
        if (first + 7 < n && (size_t)(a + from) % 8 == 0 && (size_t)b % 16 == 0) {
            __align__(8) unsigned char a8[8];
            __align__(16) short b8[8];
            *reinterpret_cast<uint2 *>(a8) = *reinterpret_cast<const uint2 *>(a + from + first);
            #pragma unroll
            for (int k2 = 0; k2 < 8; k2++) {
                const int j = first + k2;
                b8[k2] = a8[k2] + (j < 4 ? 1 : 0);
            }
            *reinterpret_cast<uint4 *>(b + first) = *reinterpret_cast<const uint4 *>(b8);
        } else {
            for (int j = first; j < n && j < first + 8; j++) {
                b[j] = a[j + from] + (j < 4 ? 1 : 0);
            }
        }
""",
    ),
    "elements of a template": (
        "wide_K4",
        "template <typename T> __global__ void k(const T *a, const float *b, T *c, int n) {\n",
        """\
LOOP    }
""",
        """\
    for (int j = threadIdx.x; j < n; j += blockDim.x) {
        c[blockIdx.x * n + j] = a[blockIdx.x * n + j] * static_cast<T>(b[j]);
""",
        """\
    for (int first = 4 * threadIdx.x; first < n; first += 4 * blockDim.x) {
        if (first + 3 < n && ((size_t)(a + blockIdx.x * n)
                | (size_t)(c + blockIdx.x * n)) % (4 * sizeof(T)) == 0 && (size_t)b % 16 == 0) {
            struct __align__(4 * sizeof(T)) T_x4 { T at[4]; };
            __align__(16) float b4[4];
            T_x4 a4 = *reinterpret_cast<const T_x4 *>(a + blockIdx.x * n + first);
            *reinterpret_cast<float4 *>(b4) = *reinterpret_cast<const float4 *>(b + first);
            T_x4 c4;
            #pragma unroll
            for (int k2 = 0; k2 < 4; k2++) {
                c4.at[k2] = a4.at[k2] * static_cast<T>(b4[k2]);
            }
            *reinterpret_cast<T_x4 *>(c + blockIdx.x * n + first) = c4;
        } else {
            for (int j = first; j < n && j < first + 4; j++) {
                c[blockIdx.x * n + j] = a[blockIdx.x * n + j] * static_cast<T>(b[j]);
            }
        }
""",
    ),
    "elements of a type that a header names": (
        "wide_K4",
        OF_HEADER,
        """\
LOOP    }
""",
        """\
    for (int j = threadIdx.x; j < n; j = j + blockDim.x) {
        c[blockIdx.x * n + j] = a[blockIdx.x * n + j] * static_cast<DTYPE>(b[j]);
""",
        """\
    for (int first = 4 * threadIdx.x; first < n; first += 4 * blockDim.x) {
        if (first + 3 < n && ((size_t)(a + blockIdx.x * n)
                | (size_t)(c + blockIdx.x * n)) % (4 * sizeof(DTYPE)) == 0 && (size_t)b % 16 == 0) {
            struct __align__(4 * sizeof(DTYPE)) DTYPE_x4 { DTYPE at[4]; };
            __align__(16) float b4[4];
            DTYPE_x4 a4 = *reinterpret_cast<const DTYPE_x4 *>(a + blockIdx.x * n + first);
            *reinterpret_cast<float4 *>(b4) = *reinterpret_cast<const float4 *>(b + first);
            DTYPE_x4 c4;
            #pragma unroll
            for (int k2 = 0; k2 < 4; k2++) {
                c4.at[k2] = a4.at[k2] * static_cast<DTYPE>(b4[k2]);
            }
            *reinterpret_cast<DTYPE_x4 *>(c + blockIdx.x * n + first) = c4;
        } else {
            for (int j = first; j < n && j < first + 4; j++) {
                c[blockIdx.x * n + j] = a[blockIdx.x * n + j] * static_cast<DTYPE>(b[j]);
            }
        }
""",
    ),
}
"""Loops over elements of other types, in the form of :data:`.wide_loops.LOOPS`."""
