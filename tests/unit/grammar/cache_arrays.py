"""Kernels before and after their arrays are accessed with streaming hints."""

HEAD = """\
typedef unsigned char byte;
#define AT(p, k) p[k]
__device__ void store(int *p, int k) { p[k] = k; }
__device__ int place(int k) { return k ^ 1; }
__global__ void k(const int *__restrict__ a, const float *b, int *c, float *d, byte *e, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
"""

KERNELS = {
    "a store": (
        "if (i < n) c[i] = a[i ^ 1] - a[i];",
        "if (i < n) __stcs(&c[i], a[i ^ 1] - a[i]);",
    ),
    "a load": (
        "if (i < n) c[i] += 2 * a[i];",
        "if (i < n) c[i] += 2 * __ldcs(&a[i]);",
    ),
    "a store in a grid-stride loop": (
        "for (; i < n; i += gridDim.x * blockDim.x)\n    d[i] = b[i] + b[i ^ 1];",
        "for (; i < n; i += gridDim.x * blockDim.x)\n    __stcs(&d[i], b[i] + b[i ^ 1]);",
    ),
    "a load in a loop": (
        "if (i < n) for (int j = 0; j < 4; j++) d[i] += b[j * n + i];",
        "if (i < n) for (int j = 0; j < 4; j++) d[i] += __ldcs(&b[j * n + i]);",
    ),
    "stores in two branches": (
        "if (i < n) { if (a[i] > a[i ^ 1]) { c[i] = 1; } else c[i] = place(i); }",
        "if (i < n) { if (a[i] > a[i ^ 1]) { __stcs(&c[i], 1); } else __stcs(&c[i], place(i)); }",
    ),
    "stores of a pair": (
        "if (i < n / 2) { c[2 * i] = i; c[2 * i + 1] = -i; }",
        "if (i < n / 2) { __stcs(&c[2 * i], i); __stcs(&c[2 * i + 1], -i); }",
    ),
    "a value of another type": (
        "if (i < n) d[i] = 0.5 * i;",
        "if (i < n) __stcs(&d[i], 0.5 * i);",
    ),
    "an integer in an array of floats": (
        "if (i < n) { d[i] = i; }",
        "if (i < n) { __stcs(&d[i], i); }",
    ),
    "a name of a type": (
        "if (i < n) e[place(i)] = (byte)(i * 7);",
        "if (i < n) __stcs(&e[place(i)], (byte)(i * 7));",
    ),
    "a load through the read-only cache": (
        "if (i < n) c[i] ^= __ldg(&a[i]);",
        "if (i < n) c[i] ^= __ldcs(&a[i]);",
    ),
    "a load that is an index": (
        "if (i < n) c[i] += i + (a[i] & 1);",
        "if (i < n) c[i] += i + (__ldcs(&a[i]) & 1);",
    ),
    "a load from an array that may be written": (
        "if (i < n) d[i] *= c[i];",
        "if (i < n) d[i] *= __ldcs(&c[i]);",
    ),
    "a store with comments": (
        "if (i < n) c[i] = // the first\n        3; // the last",
        "if (i < n) __stcs(&c[i], 3); // the last",
    ),
    "a choice of values": (
        "if (i < n) c[i] = i > 3 ? i : 3;",
        "if (i < n) __stcs(&c[i], i > 3 ? i : 3);",
    ),
}
DECLINED = {
    "an array that is read and written": "c[i] = c[i ^ 1] + 1;",
    "an array that is updated": "c[i] += 1;",
    "an array that is incremented": "c[i]++;",
    "an array that is loaded twice": "c[i] += a[i] * a[i + n];",
    "an element that is the same in a loop": "for (int j = 0; j < n; j++) c[i] += a[i];",
    "an element that a loop stores again": "for (int j = 0; j < n; j++) c[i] = j;",
    "an element that all threads load": "c[i] += a[0];",
    "an element that a block loads": "c[i] += a[blockIdx.x];",
    "an array that is passed": "store(c, i);",
    "an address": "int *p = c + i; *p = 1;",
    "an address that is used": "atomicAdd(&c[i], 1);",
    "a store in a macro": "AT(c, i) = 1;",
    "a store whose value is used": "int v = c[i] = n; d[i] += v;",
    "a pointer of the kernel": "int *p = c; p[i] = 1;",
    "a list of values": "c[i] = {1};",
    "a directive in a statement": "c[i] = 1 +\n#ifdef A\n2;\n#else\n3;\n#endif\n",
    "a directive in an index": "c[i] += a[i +\n#ifdef A\n1\n#else\n2\n#endif\n];",
}
OTHER_TYPES = {
    "structures": "struct P { int x, y; };\n__global__ void k(P *p, const P *q, int n) { BODY }\n",
    "flags": "__global__ void k(bool *p, const bool *q, int n) { BODY }\n",
    "three numbers": "__global__ void k(float3 *p, const float3 *q, int n) { BODY }\n",
    "types of a template": (
        "template <class T> __global__ void k(T *p, const T *q, int n) { BODY }\n"
    ),
    "volatile numbers": "__global__ void k(volatile int *p, const volatile int *q) { BODY }\n",
    "pointers": "__global__ void k(int **p, int *const *q) { BODY }\n",
    "functions of the device": "__device__ void k(int *p, const int *q) { BODY }\n",
}
STREAMED = (
    *("char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned int"),
    *("unsigned", "long", "unsigned long", "long long", "unsigned long long", "float", "double"),
    *("char2", "char4", "uchar2", "uchar4", "short2", "short4", "ushort2", "ushort4", "int2"),
    *("int4", "uint2", "uint4", "longlong2", "ulonglong2", "float2", "float4", "double2"),
    *("__half", "__half2", "__nv_bfloat16", "__nv_bfloat162", "uint8_t", "int64_t", "size_t"),
)
