"""Loops before and after scalar replacement."""

LOOPS = {
    "a sum in memory, and a factor that a store might change": (
        "scalar_K",
        """\
__global__ void weigh(const float *a, const float *b, float *out, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        for (int j = 0; j < m; j++) {
            out[i] += a[j] * b[i];
        }
    }
}
""",
        """\
__global__ void weigh(const float *a, const float *b, float *out, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float b_i = b[i];
        float out_i = out[i];
        for (int j = 0; j < m; j++) {
            out_i += a[j] * b_i;
        }
        out[i] = out_i;
    }
}
""",
    ),
    "a pragma before the loop and comments beside it, with tabs": (
        "scalar_K",
        """\
__global__ void sum(const float *a, float *out, int m)
{
	const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
	// Add up.
	#pragma unroll 4
	for (int j = 0; j < m; j++)
		out[i] += a[j]; // one after the other
	out[i] /= m;
}
""",
        """\
__global__ void sum(const float *a, float *out, int m)
{
	const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
	// Add up.
	float out_i = out[i];
	#pragma unroll 4
	for (int j = 0; j < m; j++)
		out_i += a[j]; // one after the other
	out[i] = out_i;
	out[i] /= m;
}
""",
    ),
    "a loop that is the body of another one": (
        "scalar_K",
        """\
__global__ void rows(const float *a, float *c, int n, int m) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < n; j++)
        for (int k = 0; k < m; k++)
            c[row * n + j] += a[row * m + k] * a[k * n + j];
}
""",
        """\
__global__ void rows(const float *a, float *c, int n, int m) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < n; j++) {
        float c_value = c[row * n + j];
        for (int k = 0; k < m; k++)
            c_value += a[row * m + k] * a[k * n + j];
        c[row * n + j] = c_value;
    }
}
""",
    ),
    "a loop after else": (
        "scalar_K",
        """\
__global__ void either(const int *a, int *out, int n) {
  int i = threadIdx.x;
  if (n < 3)
    out[i] = 0;
  else
    for (int j = 0; j < n; j++) {
      out[i] = max(out[i], a[j]);
    }
}
""",
        """\
__global__ void either(const int *a, int *out, int n) {
  int i = threadIdx.x;
  if (n < 3)
    out[i] = 0;
  else {
    int out_i = out[i];
    for (int j = 0; j < n; j++) {
      out_i = max(out_i, a[j]);
    }
    out[i] = out_i;
  }
}
""",
    ),
    "a loop on the line of its if": (
        "scalar_K",
        """\
__global__ void one(const float *a, float *out, int n) {
    int i = threadIdx.x;
    if (i < n) for (int j = 0; j < n; j++) out[i] += a[j];
}
""",
        """\
__global__ void one(const float *a, float *out, int n) {
    int i = threadIdx.x;
    if (i < n) { float out_i = out[i]; for (int j = 0; j < n; j++) out_i += a[j]; out[i] = out_i; }
}
""",
    ),
    "a while loop that tests what it writes": (
        "scalar_K",
        """\
__global__ void halve(double *x, int *steps) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    while (x[t] > 1) {
        x[t] /= 2;
        steps[t]++;
    }
}
""",
        """\
__global__ void halve(double *x, int *steps) {
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    double x_t = x[t];
    int steps_t = steps[t];
    while (x_t > 1) {
        x_t /= 2;
        steps_t++;
    }
    x[t] = x_t;
    steps[t] = steps_t;
}
""",
    ),
    "a do loop": (
        "scalar_K",
        """\
__global__ void grow(unsigned int *x, int n) {
    int t = threadIdx.x;
    int k = 0;
    do {
        x[t] = x[t] * 1664525u + 1013904223u;
    } while (++k < n);
}
""",
        """\
__global__ void grow(unsigned int *x, int n) {
    int t = threadIdx.x;
    int k = 0;
    unsigned int x_t = x[t];
    do {
        x_t = x_t * 1664525u + 1013904223u;
    } while (++k < n);
    x[t] = x_t;
}
""",
    ),
    "three moments, updated in a loop over time": (
        "scalar_K",
        """\
__global__ void steps(float *p, float *m, const float *g, size_t n, int times) {
    size_t j = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (j >= n) return;
    for (int t = 0; t < times; t++) {
        m[j] = 0.9f * m[j] + 0.1f * g[j];
        p[j] -= m[j] / (t + 1);
    }
}
""",
        """\
__global__ void steps(float *p, float *m, const float *g, size_t n, int times) {
    size_t j = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (j >= n) return;
    float p_j = p[j];
    float m_j = m[j];
    const float g_j = g[j];
    for (int t = 0; t < times; t++) {
        m_j = 0.9f * m_j + 0.1f * g_j;
        p_j -= m_j / (t + 1);
    }
    p[j] = p_j;
    m[j] = m_j;
}
""",
    ),
    "an element that two dimensions give, in a template": (
        "scalar_K",
        """\
template <typename T>
__global__ void blur(const T *in, T *out, int width, int radius) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    for (int d = -radius; d <= radius; d++) {
        out[y * width + x] += in[y * width + x + d];
    }
}
""",
        """\
template <typename T>
__global__ void blur(const T *in, T *out, int width, int radius) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    T out_value = out[y * width + x];
    for (int d = -radius; d <= radius; d++) {
        out_value += in[y * width + x + d];
    }
    out[y * width + x] = out_value;
}
""",
    ),
    "a name that is taken": (
        "scalar_K",
        """\
__global__ void taken(const float *a, float *out, int n) {
    int i = threadIdx.x;
    float out_i = 0;
    for (int j = 0; j < n; j++) {
        out[i] += a[j] + out_i;
        out_i += 1;
    }
}
""",
        """\
__global__ void taken(const float *a, float *out, int n) {
    int i = threadIdx.x;
    float out_i = 0;
    float out_i2 = out[i];
    for (int j = 0; j < n; j++) {
        out_i2 += a[j] + out_i;
        out_i += 1;
    }
    out[i] = out_i2;
}
""",
    ),
    "a device function with a local pointer": (
        "scalar_K",
        """\
__device__ void add_row(const float *a, float *table, int row, int n) {
    float *own = table + row * 4;
    for (int j = 0; j < n; j++) {
        own[2] += a[j];
    }
}
__global__ void all(const float *a, float *table, int n) {
    add_row(a, table, threadIdx.x, n);
}
""",
        """\
__device__ void add_row(const float *a, float *table, int row, int n) {
    float *own = table + row * 4;
    float own_2 = own[2];
    for (int j = 0; j < n; j++) {
        own_2 += a[j];
    }
    own[2] = own_2;
}
__global__ void all(const float *a, float *table, int n) {
    add_row(a, table, threadIdx.x, n);
}
""",
    ),
    "an array of the device": (
        "scalar_K",
        """\
__device__ float totals[256];
__global__ void add(const float *a, int n) {
    for (int j = 0; j < n; j++) {
        totals[threadIdx.x] += a[j];
    }
}
""",
        """\
__device__ float totals[256];
__global__ void add(const float *a, int n) {
    float totals_value = totals[threadIdx.x];
    for (int j = 0; j < n; j++) {
        totals_value += a[j];
    }
    totals[threadIdx.x] = totals_value;
}
""",
    ),
    "an element of an array that gives the index of another one": (
        "scalar_K",
        """\
__global__ void scatter(const int *to, const float *a, float *out, int n) {
    int i = threadIdx.x;
    for (int j = 0; j < n; j++) {
        out[to[i]] += a[j] * to[i];
    }
}
""",
        """\
__global__ void scatter(const int *to, const float *a, float *out, int n) {
    int i = threadIdx.x;
    const int to_i = to[i];
    float out_value = out[to[i]];
    for (int j = 0; j < n; j++) {
        out_value += a[j] * to_i;
    }
    out[to[i]] = out_value;
}
""",
    ),
    "a case, and a loop that ends early": (
        "scalar_K",
        """\
__global__ void modes(const float *a, float *out, int n, int mode) {
    int i = threadIdx.x;
    switch (mode) {
        case 0:
            for (int j = 0; j < n; j++) {
                out[i] += a[j];
                if (out[i] > 9) break;
            }
            break;
        default:
            out[i] = 0;
    }
}
""",
        """\
__global__ void modes(const float *a, float *out, int n, int mode) {
    int i = threadIdx.x;
    switch (mode) {
        case 0: {
            float out_i = out[i];
            for (int j = 0; j < n; j++) {
                out_i += a[j];
                if (out_i > 9) break;
            }
            out[i] = out_i;
        }
            break;
        default:
            out[i] = 0;
    }
}
""",
    ),
}
