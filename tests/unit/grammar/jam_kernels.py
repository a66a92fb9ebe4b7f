"""Kernels whose threads get several items that share loops, before that."""

from __future__ import annotations

HEAD = "__global__ void k(const float *a, const float *b, float *c, int n, int m) {\n"

BEFORE = {
    "an early return, a loop without braces": """\
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j < m; j++)
        sum += a[j * n + i] * b[j];
    c[i] = sum;
""",
    "the last if, a loop with a pragma": """\
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float most = a[i], least = most;
        #pragma unroll 2
        for (int j = 1; j < m; j++) {
            float one = a[j * n + i];
            most = fmaxf(most, one);
            least = fminf(least, one);
        }
        c[i] = most - least;
    }
""",
    "what is the same for all items is loaded once": """\
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (n <= i) { return; }
    float sum = b[i % 3];
    for (int j = 0; j < m; j++) {
        float x = a[i + n * j];
        float y = b[j];
        sum += x * y;
    }
    c[i] = sum;
""",
    "two loops, one in the other": """\
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        for (int j = 0; j < m; j++) {
            float sum = 0;
            for (int k = 0; k <= j; k++) {
                sum += a[k * n + i];
            }
            c[i] += sum * b[j];
        }
    }
""",
    "an array and a pointer": """\
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float last[2];
    const float *column = a + i;
    last[0] = last[1] = 0;
    for (int j = 0; j < m; j++) {
        last[j % 2] += *column;
        column += n;
    }
    c[i] = last[0] - last[1];
""",
    "a branch of its own": """\
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int seen = 0;
    for (int j = 0; j < m; j++) {
        if (a[j * n + i] > b[j]) {
            seen++;
        }
    }
    c[i] = seen;
""",
    "a branch that all items take": """\
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 1;
    for (int j = 0; j < m; j++) {
        if (b[j] > 0.5f) {
            sum += a[j * n + i];
        } else
            sum -= b[j];
    }
    c[i] = sum;
""",
    "a loop that one item leaves": """\
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j < m; j++) {
        sum += a[j * n + i];
    }
    for (int j = 0; j < m; j++) {
        if (b[j] > sum) break;
        sum -= b[j];
    }
    c[i] = sum;
""",
    "elements that are changed where they are": """\
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 0; j < m; j++) {
        c[i] = c[i] * 0.5f + a[j * n + i];
    }
""",
    "a while loop": """\
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int j = 0;
        float sum = 0;
        while (j < m) {
            sum += a[j * n + i] * b[j];
            j++;
        }
        c[i] = sum;
    }
""",
    "on one line": """\
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int j = 0; j < m; j++) { sum += a[j * n + i]; }
    c[i] = sum;
""",
    "another condition beside": """\
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (m > 0 && i < n) {
        float sum = 0;
        for (int j = m - 1; j >= 0; j--)
            sum = sum * 0.5f + a[j * n + i];
        c[i] = sum;
    }
""",
}
