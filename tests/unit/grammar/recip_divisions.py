"""Kernels before and after divisions became products with a reciprocal."""

HEAD = "__global__ void k(float *a, const float *b, float s, double d, int n) {\n"

KERNELS = {
    "a divisor that is the same for the next item of a thread": (
        """\
__global__ void blur(float *a, const float *b, float width, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = b[i] / (2.0f * width);
}
""",
        """\
__global__ void blur(float *a, const float *b, float width, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float inv_width = 1.0f / (2.0f * width);
    if (i < n) a[i] = b[i] * inv_width;
}
""",
    ),
    "a divisor that a loop keeps": (
        """\
__global__ void scale(float *a, const float *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int j = 0; j < n; j++) {
        sum += b[j];
    }
    for (int j = 0; j < n; j++) {
        a[i * n + j] = b[j] / sum;
    }
}
""",
        """\
__global__ void scale(float *a, const float *b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int j = 0; j < n; j++) {
        sum += b[j];
    }
    const float inv_sum = 1.0f / sum;
    for (int j = 0; j < n; j++) {
        a[i * n + j] = b[j] * inv_sum;
    }
}
""",
    ),
    "three divisions, with tabs and an early return": (
        """\
__global__ void unit(float4 *p, size_t n)
{
	const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	float4 v = p[i];
	float length = sqrtf(v.x * v.x + v.y * v.y + v.z * v.z);
	// Of length 1.
	v.x /= length;
	v.y /= length;
	v.z = v.z / length; // the last one
	p[i] = v;
}
""",
        """\
__global__ void unit(float4 *p, size_t n)
{
	const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	float4 v = p[i];
	float length = sqrtf(v.x * v.x + v.y * v.y + v.z * v.z);
	// Of length 1.
	const float inv_length = 1.0f / length;
	v.x *= inv_length;
	v.y *= inv_length;
	v.z = v.z * inv_length; // the last one
	p[i] = v;
}
""",
    ),
    "a parameter of a grid-stride loop, in double precision": (
        """\
__global__ void mean(double *a, int n, int count) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        a[i] /= count;
}
""",
        """\
__global__ void mean(double *a, int n, int count) {
    const double inv_count = 1.0 / count;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        a[i] *= inv_count;
}
""",
    ),
    "an expression and a pragma": (
        """\
__global__ void blur(float *a, const float *b, float sigma, int n) {
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    #pragma unroll 4
    for (int x = 0; x < n; x++) {
        a[y * n + x] = expf(-b[x] * b[y] / (2 * sigma * sigma));
    }
}
""",
        """\
__global__ void blur(float *a, const float *b, float sigma, int n) {
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    const float inv_sigma = 1.0f / (2 * sigma * sigma);
    #pragma unroll 4
    for (int x = 0; x < n; x++) {
        a[y * n + x] = expf(-b[x] * b[y] * inv_sigma);
    }
}
""",
    ),
    "a loop that is the body of another one": (
        """\
__global__ void rows(float *a, const float *b, int n, int m) {
    float peak;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        if ((peak = b[i]) > 0)
            for (int j = 0; j < m; j++)
                a[i * m + j] = a[i * m + j] / peak;
}
""",
        """\
__global__ void rows(float *a, const float *b, int n, int m) {
    float peak;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        if ((peak = b[i]) > 0) {
            const float inv_peak = 1.0f / peak;
            for (int j = 0; j < m; j++)
                a[i * m + j] = a[i * m + j] * inv_peak;
        }
}
""",
    ),
    "a divisor in an outer loop": (
        """\
__global__ void nest(float *a, const float *b, int n) {
    for (int i = 0; i < n; i++) {
        const float norm = b[i] + 1;
        for (int j = 0; j < n; j++) a[i * n + j] /= norm;
    }
}
""",
        """\
__global__ void nest(float *a, const float *b, int n) {
    for (int i = 0; i < n; i++) {
        const float norm = b[i] + 1;
        const float inv_norm = 1.0f / norm;
        for (int j = 0; j < n; j++) a[i * n + j] *= inv_norm;
    }
}
""",
    ),
    "both branches, and a name that is taken": (
        """\
__global__ void pick(float *a, float h, int n) {
    int i = threadIdx.x;
    float inv_h = 3;
    if (i < n) a[i] = a[i] / h;
    else a[i] = inv_h / h;
}
""",
        """\
__global__ void pick(float *a, float h, int n) {
    int i = threadIdx.x;
    float inv_h = 3;
    const float inv_h2 = 1.0f / h;
    if (i < n) a[i] = a[i] * inv_h2;
    else a[i] = inv_h * inv_h2;
}
""",
    ),
    "a reciprocal beside a division, on one line": (
        """\
__global__ void k(float *a, float h) { a[0] = 1.0f / h; a[1] /= h; }
""",
        """\
__global__ void k(float *a, float h) { const float inv_h = 1.0f / h; a[0] = inv_h; a[1] *= inv_h; }
""",
    ),
    "an element that the loop reads each time": (
        """\
__global__ void sizes(float *a, const int *size, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        for (int j = 0; j < m; j++) {
            a[j * n + i] /= (float) size[i];
        }
    }
}
""",
        """\
__global__ void sizes(float *a, const int *size, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float inv_size_i = 1.0f / (float) size[i];
        for (int j = 0; j < m; j++) {
            a[j * n + i] *= inv_size_i;
        }
    }
}
""",
    ),
    "a device function that may be called in a loop": (
        """\
__device__ float slope(float left, float right, float dx) {
    return (right - left) / (2.0f * dx);
}
__global__ void k(float *a, float dx) { a[0] = slope(a[1], a[2], dx); }
""",
        """\
__device__ float slope(float left, float right, float dx) {
    const float inv_dx = 1.0f / (2.0f * dx);
    return (right - left) * inv_dx;
}
__global__ void k(float *a, float dx) { a[0] = slope(a[1], a[2], dx); }
""",
    ),
    "literals, and a macro for one": (
        """\
#define SCALE 255.0f
__global__ void pixels(float *a, double *c) {
    a[0] = a[0] / SCALE;
    a[1] /= (SCALE);
    c[0] = 4 + c[0] / 2;
}
""",
        """\
#define SCALE 255.0f
__global__ void pixels(float *a, double *c) {
    a[0] = a[0] * (1.0f / SCALE);
    a[1] *= 1.0f / SCALE;
    c[0] = 4 + c[0] / 2;
}
""",
    ),
    "a divisor that changes between two loops": (
        """\
__global__ void twice(float *a, float s, int n) {
    for (int j = 0; j < n; j++) a[j] /= s;
    s = s + 1;
    for (int j = 0; j < n; j++) a[j] /= s;
}
""",
        """\
__global__ void twice(float *a, float s, int n) {
    const float inv_s = 1.0f / s;
    for (int j = 0; j < n; j++) a[j] *= inv_s;
    s = s + 1;
    for (int j = 0; j < n; j++) a[j] /= s;
}
""",
    ),
    "a barrier in the loop": (
        """\
__global__ void tiles(float *a, float s, int n) {
    __shared__ float tile[32];
    for (int j = 0; j < n; j++) {
        tile[threadIdx.x] = a[j];
        __syncthreads();
        a[j] = tile[31 - threadIdx.x] / s;
        __syncthreads();
    }
}
""",
        """\
__global__ void tiles(float *a, float s, int n) {
    __shared__ float tile[32];
    const float inv_s = 1.0f / s;
    for (int j = 0; j < n; j++) {
        tile[threadIdx.x] = a[j];
        __syncthreads();
        a[j] = tile[31 - threadIdx.x] * inv_s;
        __syncthreads();
    }
}
""",
    ),
}
"""Before and after the first site of each is made."""

DECLINED = {
    "one division": "a[0] = b[0] / s;",
    "one division after a loop": "for (int j = 0; j < n; j++) d += b[j]; a[0] = d / s;",
    "the same division twice": "a[0] = b[0] / s; a[1] = b[0] / s;",
    "reciprocals, which the compiler takes out of the loop": (
        "for (int j = 0; j < n; j++) a[j] = b[j] * (1.0f / s);"
    ),
    "a quotient that the loop keeps": "for (int j = 0; j < n; j++) a[j] = b[j] + d / s;",
    "integers": "for (int j = 0; j < n; j++) a[j] = j / n;",
    "a divisor that changes": "for (int j = 0; j < n; j++) { a[j] = b[j] / s; s += 1; }",
    "a divisor that is declared in the loop": (
        "for (int j = 0; j < n; j++) { float t = b[j]; a[j] = s / t; }"
    ),
    "a divisor that another function changes": (
        "for (int j = 0; j < n; j++) { a[j] = b[j] / s; step(&s); }"
    ),
    "an element that the loop writes": "for (int j = 0; j < n; j++) a[j] = b[j] / a[0];",
    "an element that is not read in all iterations": (
        "for (int j = 0; j < n; j++) if (j < 3) a[j] = s / b[0];"
    ),
    "an element at a barrier": (
        "for (int j = 0; j < n; j++) { a[j] = s * j / b[0]; __syncthreads(); }"
    ),
    "shared memory at a barrier in a function": (
        "__shared__ float t; for (int j = 0; j < n; j++) { meet(); a[j] = b[j] / t; }"
    ),
    "an integer division that may be by 0": (
        "int m = n; for (int j = 0; j < n; j++) if (m) a[j] = b[j] / (float)(n / m);"
    ),
    "a macro without parentheses": "for (int j = 0; j < n; j++) a[j] = b[j] / SUM;",
    "a function of the source": "for (int j = 0; j < n; j++) a[j] = b[j] / twice(s);",
    "a comment": "for (int j = 0; j < n; j++) a[j] = b[j] / (s + /* and */ 1);",
    "a power of two": "a[0] = b[0] / 4.0f; a[1] = b[1] / 0.25;",
    "two numbers": "a[0] = 1.0f / 3.0f;",
    "a number of unknown type": "for (int j = 0; j < n; j++) a[j] = b[j] / UNKNOWN;",
}
"""Bodies of a kernel without a site."""
