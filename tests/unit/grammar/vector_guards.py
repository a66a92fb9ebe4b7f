"""Kernels before and after vector accesses: how their items are guarded."""

GUARDS = {
    "a guarded sum of two arrays": (
        "vector_K4",
        """\
__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}
""",
        """\
__global__ void add(const float *a, const float *b, float *c, int n) {
    int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 3 < n && ((size_t)a | (size_t)b | (size_t)c) % 16 == 0) {
        __align__(16) float a4[4], b4[4], c4[4];
        *reinterpret_cast<float4 *>(a4) = *reinterpret_cast<const float4 *>(a + first);
        *reinterpret_cast<float4 *>(b4) = *reinterpret_cast<const float4 *>(b + first);
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            c4[k] = a4[k] + b4[k];
        }
        *reinterpret_cast<float4 *>(c + first) = *reinterpret_cast<const float4 *>(c4);
    } else {
        for (int i = first; i < n && i < first + 4; i++) {
            c[i] = a[i] + b[i];
        }
    }
}
""",
    ),
    "a body without braces and an index that is const": (
        "vector_K2",
        """\
__global__ void square(const double *x, double *y, int n) {
    const int t = threadIdx.x + blockIdx.x * blockDim.x;
    if (t < n) y[t] = x[t] * x[t];
}
""",
        """\
__global__ void square(const double *x, double *y, int n) {
    const int first = 2 * (threadIdx.x + blockIdx.x * blockDim.x);
    if (first + 1 < n && ((size_t)x | (size_t)y) % 16 == 0) {
        __align__(16) double x2[2], y2[2];
        *reinterpret_cast<double2 *>(x2) = *reinterpret_cast<const double2 *>(x + first);
        #pragma unroll
        for (int k = 0; k < 2; k++) {
            y2[k] = x2[k] * x2[k];
        }
        *reinterpret_cast<double2 *>(y + first) = *reinterpret_cast<const double2 *>(y2);
    } else {
        for (int t = first; t < n && t < first + 2; t++) {
            y[t] = x[t] * x[t];
        }
    }
}
""",
    ),
    "an early return, tabs, and a comment": (
        "vector_K4",
        """\
__global__ void scale(float *data, float factor, unsigned int count)
{
	unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
	float twice = 2 * factor;
	if (i >= count)
		return;
	// All in place.
	data[i] *= twice;
}
""",
        """\
__global__ void scale(float *data, float factor, unsigned int count)
{
	unsigned int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
	float twice = 2 * factor;
	if (first + 3 < count && (size_t)data % 16 == 0) {
		__align__(16) float data4[4];
		*reinterpret_cast<float4 *>(data4) = *reinterpret_cast<const float4 *>(data + first);
		#pragma unroll
		for (int k = 0; k < 4; k++) {
			// All in place.
			data4[k] *= twice;
		}
		*reinterpret_cast<float4 *>(data + first) = *reinterpret_cast<const float4 *>(data4);
	} else {
		for (unsigned int i = first; i < count && i < first + 4; i++) {
			// All in place.
			data[i] *= twice;
		}
	}
}
""",
    ),
    "an index of 64 bits that is computed in 32": (
        "vector_K4",
        """\
__global__ void shift(const float *in, float *out, size_t n) {
  size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (n > i)
    out[i] = in[i] + 1;
}
""",
        """\
__global__ void shift(const float *in, float *out, size_t n) {
  size_t first = 4 * static_cast<size_t>(blockIdx.x * blockDim.x + threadIdx.x);
  if (n > first + 3 && ((size_t)in | (size_t)out) % 16 == 0) {
    __align__(16) float in4[4], out4[4];
    *reinterpret_cast<float4 *>(in4) = *reinterpret_cast<const float4 *>(in + first);
    #pragma unroll
    for (int k = 0; k < 4; k++) {
      out4[k] = in4[k] + 1;
    }
    *reinterpret_cast<float4 *>(out + first) = *reinterpret_cast<const float4 *>(out4);
  } else {
    for (size_t i = first; n > i && i < first + 4; i++) {
      out[i] = in[i] + 1;
    }
  }
}
""",
    ),
    "an index of 64 bits that is computed in 64": (
        "vector_K2",
        """\
__global__ void shift(const float *in, float *out, long n) {
    long i = (long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n - 1) {
        out[i] = in[i] + 1;
    }
}
""",
        """\
__global__ void shift(const float *in, float *out, long n) {
    long first = 2 * ((long)blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 1 <= n - 1 && ((size_t)in | (size_t)out) % 8 == 0) {
        __align__(8) float in2[2], out2[2];
        *reinterpret_cast<float2 *>(in2) = *reinterpret_cast<const float2 *>(in + first);
        #pragma unroll
        for (int k = 0; k < 2; k++) {
            out2[k] = in2[k] + 1;
        }
        *reinterpret_cast<float2 *>(out + first) = *reinterpret_cast<const float2 *>(out2);
    } else {
        for (long i = first; i <= n - 1 && i < first + 2; i++) {
            out[i] = in[i] + 1;
        }
    }
}
""",
    ),
    "braces on lines by themselves": (
        "vector_K4",
        """\
__global__ void copy(const int *from, int *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
    {
        to[i] = from[i];
    }
}
""",
        """\
__global__ void copy(const int *from, int *to, int n)
{
    int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);

    if (first + 3 < n && ((size_t)from | (size_t)to) % 16 == 0)
    {
        __align__(16) int from4[4], to4[4];
        *reinterpret_cast<int4 *>(from4) = *reinterpret_cast<const int4 *>(from + first);
        #pragma unroll
        for (int k = 0; k < 4; k++)
        {
            to4[k] = from4[k];
        }
        *reinterpret_cast<int4 *>(to + first) = *reinterpret_cast<const int4 *>(to4);
    }
    else
    {
        for (int i = first; i < n && i < first + 4; i++)
        {
            to[i] = from[i];
        }
    }
}
""",
    ),
    "a work that returns before its end": (
        "vector_K4",
        """\
__global__ void mask(const unsigned char *on, float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (!on[i]) return;
    x[i] = 0;
}
""",
        """\
__global__ void mask(const unsigned char *on, float *x, int n) {
    int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 3 < n && (size_t)on % 4 == 0) {
        __align__(4) unsigned char on4[4];
        *reinterpret_cast<uchar4 *>(on4) = *reinterpret_cast<const uchar4 *>(on + first);
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            const int i = first + k;
            if (!on4[k]) continue;
            x[i] = 0;
        }
    } else {
        for (int i = first; i < n && i < first + 4; i++) {
            if (!on[i]) continue;
            x[i] = 0;
        }
    }
}
""",
    ),
    "a second condition of the guard": (
        "vector_K2",
        """\
__global__ void clear(const int *flag, float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && flag[i] > 0) {
        x[i] = 0;
    }
}
""",
        """\
__global__ void clear(const int *flag, float *x, int n) {
    int first = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first + 1 < n && (size_t)flag % 8 == 0) {
        __align__(8) int flag2[2];
        *reinterpret_cast<int2 *>(flag2) = *reinterpret_cast<const int2 *>(flag + first);
        #pragma unroll
        for (int k = 0; k < 2; k++) {
            const int i = first + k;
            if (flag2[k] > 0) {
                x[i] = 0;
            }
        }
    } else {
        for (int i = first; i < n && i < first + 2; i++) {
            if (flag[i] > 0) {
                x[i] = 0;
            }
        }
    }
}
""",
    ),
    "a loop with the stride of the grid": (
        "vector_K4",
        """\
__global__ void add(const float *a, float *b, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        b[i] += a[i];
}
""",
        """\
__global__ void add(const float *a, float *b, int n) {
    for (int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x); first < n;
            first += 4 * (blockDim.x * gridDim.x)) {
        if (first + 3 < n && ((size_t)a | (size_t)b) % 16 == 0) {
            __align__(16) float a4[4], b4[4];
            *reinterpret_cast<float4 *>(a4) = *reinterpret_cast<const float4 *>(a + first);
            *reinterpret_cast<float4 *>(b4) = *reinterpret_cast<const float4 *>(b + first);
            #pragma unroll
            for (int k = 0; k < 4; k++) {
                b4[k] += a4[k];
            }
            *reinterpret_cast<float4 *>(b + first) = *reinterpret_cast<const float4 *>(b4);
        } else {
            for (int i = first; i < n && i < first + 4; i++) {
                b[i] += a[i];
            }
        }
    }
}
""",
    ),
    "a loop whose stride and start are variables": (
        "vector_K2",
        """\
__global__ void decay(float *m, const float *g, size_t n, int steps) {
    const size_t start = blockIdx.x * blockDim.x + threadIdx.x;
    const size_t stride = gridDim.x * blockDim.x;
    for (size_t i = start; i < n; i += stride) {
        for (int t = 0; t < steps; t++) {
            m[i] = 0.9f * m[i] + 0.1f * g[i];
        }
    }
}
""",
        """\
__global__ void decay(float *m, const float *g, size_t n, int steps) {
    const size_t start = blockIdx.x * blockDim.x + threadIdx.x;
    const size_t stride = gridDim.x * blockDim.x;
    for (size_t first = 2 * start; first < n; first += 2 * stride) {
        if (first + 1 < n && ((size_t)m | (size_t)g) % 8 == 0) {
            __align__(8) float m2[2], g2[2];
            *reinterpret_cast<float2 *>(m2) = *reinterpret_cast<const float2 *>(m + first);
            *reinterpret_cast<float2 *>(g2) = *reinterpret_cast<const float2 *>(g + first);
            #pragma unroll
            for (int k = 0; k < 2; k++) {
                for (int t = 0; t < steps; t++) {
                    m2[k] = 0.9f * m2[k] + 0.1f * g2[k];
                }
            }
            *reinterpret_cast<float2 *>(m + first) = *reinterpret_cast<const float2 *>(m2);
        } else {
            for (size_t i = first; i < n && i < first + 2; i++) {
                for (int t = 0; t < steps; t++) {
                    m[i] = 0.9f * m[i] + 0.1f * g[i];
                }
            }
        }
    }
}
""",
    ),
}
