"""The kernels of :mod:`.jam_kernels` after each thread got two items that share loops."""

from __future__ import annotations

AFTER = {
    "an early return, a loop without braces": """\
    int i = blockIdx.x * 2 * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int items[2];
    #pragma unroll
    for (int item = 0; item < 2; item++)
        items[item] = i + item * blockDim.x < n ? i + item * blockDim.x : i;
    float sum[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        sum[item] = 0;
    }
    for (int j = 0; j < m; j++) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            sum[item] += a[j * n + items[item]] * b[j];
        }
    }
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (item && items[item] == i) break;
        c[items[item]] = sum[item];
    }
""",
    "the last if, a loop with a pragma": """\
    const int i = blockIdx.x * 2 * blockDim.x + threadIdx.x;
    if (i < n) {
        int items[2];
        #pragma unroll
        for (int item = 0; item < 2; item++)
            items[item] = i + item * blockDim.x < n ? i + item * blockDim.x : i;
        float most[2];
        float least[2];
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            most[item] = a[items[item]]; least[item] = most[item];
        }
        #pragma unroll 2
        for (int j = 1; j < m; j++) {
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                float one = a[j * n + items[item]];
                most[item] = fmaxf(most[item], one);
                least[item] = fminf(least[item], one);
            }
        }
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            if (item && items[item] == i) break;
            c[items[item]] = most[item] - least[item];
        }
    }
""",
    "what is the same for all items is loaded once": """\
    int i = threadIdx.x + blockIdx.x * 2 * blockDim.x;
    if (n <= i) { return; }
    int items[2];
    #pragma unroll
    for (int item = 0; item < 2; item++)
        items[item] = n > i + item * blockDim.x ? i + item * blockDim.x : i;
    float sum[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        sum[item] = b[items[item] % 3];
    }
    for (int j = 0; j < m; j++) {
        float x[2];
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            x[item] = a[items[item] + n * j];
        }
        float y = b[j];
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            sum[item] += x[item] * y;
        }
    }
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (item && items[item] == i) break;
        c[items[item]] = sum[item];
    }
""",
    "two loops, one in the other": """\
    int i = blockIdx.x * 2 * blockDim.x + threadIdx.x;
    if (i < n) {
        int items[2];
        #pragma unroll
        for (int item = 0; item < 2; item++)
            items[item] = i + item * blockDim.x < n ? i + item * blockDim.x : i;
        for (int j = 0; j < m; j++) {
            float sum[2];
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                sum[item] = 0;
            }
            for (int k = 0; k <= j; k++) {
                #pragma unroll
                for (int item = 0; item < 2; item++) {
                    sum[item] += a[k * n + items[item]];
                }
            }
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                if (item && items[item] == i) break;
                c[items[item]] += sum[item] * b[j];
            }
        }
    }
""",
    "an array and a pointer": """\
    int i = blockIdx.x * 2 * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int items[2];
    #pragma unroll
    for (int item = 0; item < 2; item++)
        items[item] = i + item * blockDim.x < n ? i + item * blockDim.x : i;
    float last[2][2];
    const float *column[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        column[item] = a + items[item];
        last[item][0] = last[item][1] = 0;
    }
    for (int j = 0; j < m; j++) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            last[item][j % 2] += *column[item];
            column[item] += n;
        }
    }
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (item && items[item] == i) break;
        c[items[item]] = last[item][0] - last[item][1];
    }
""",
    "a branch of its own": """\
    int i = blockIdx.x * 2 * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int items[2];
    #pragma unroll
    for (int item = 0; item < 2; item++)
        items[item] = i + item * blockDim.x < n ? i + item * blockDim.x : i;
    int seen[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        seen[item] = 0;
    }
    for (int j = 0; j < m; j++) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            if (a[j * n + items[item]] > b[j]) {
                seen[item]++;
            }
        }
    }
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (item && items[item] == i) break;
        c[items[item]] = seen[item];
    }
""",
    "a branch that all items take": """\
    int i = blockIdx.x * 2 * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int items[2];
    #pragma unroll
    for (int item = 0; item < 2; item++)
        items[item] = i + item * blockDim.x < n ? i + item * blockDim.x : i;
    float sum[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        sum[item] = 1;
    }
    for (int j = 0; j < m; j++) {
        if (b[j] > 0.5f) {
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                sum[item] += a[j * n + items[item]];
            }
        } else {
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                sum[item] -= b[j];
            }
        }
    }
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (item && items[item] == i) break;
        c[items[item]] = sum[item];
    }
""",
    "a loop that one item leaves": """\
    int i = blockIdx.x * 2 * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int items[2];
    #pragma unroll
    for (int item = 0; item < 2; item++)
        items[item] = i + item * blockDim.x < n ? i + item * blockDim.x : i;
    float sum[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        sum[item] = 0;
    }
    for (int j = 0; j < m; j++) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            sum[item] += a[j * n + items[item]];
        }
    }
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (item && items[item] == i) break;
        for (int j = 0; j < m; j++) {
            if (b[j] > sum[item]) break;
            sum[item] -= b[j];
        }
        c[items[item]] = sum[item];
    }
""",
    "elements that are changed where they are": """\
    int i = blockIdx.x * 2 * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int items[2];
    #pragma unroll
    for (int item = 0; item < 2; item++)
        items[item] = i + item * blockDim.x < n ? i + item * blockDim.x : i;
    for (int j = 0; j < m; j++) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            if (item && items[item] == i) break;
            c[items[item]] = c[items[item]] * 0.5f + a[j * n + items[item]];
        }
    }
""",
    "a while loop": """\
    int i = blockIdx.x * 2 * blockDim.x + threadIdx.x;
    if (i < n) {
        int items[2];
        #pragma unroll
        for (int item = 0; item < 2; item++)
            items[item] = i + item * blockDim.x < n ? i + item * blockDim.x : i;
        int j = 0;
        float sum[2];
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            sum[item] = 0;
        }
        while (j < m) {
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                sum[item] += a[j * n + items[item]] * b[j];
            }
            j++;
        }
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            if (item && items[item] == i) break;
            c[items[item]] = sum[item];
        }
    }
""",
    "on one line": """\
    int i = blockIdx.x * 2 * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int items[2];
    #pragma unroll
    for (int item = 0; item < 2; item++)
        items[item] = i + item * blockDim.x < n ? i + item * blockDim.x : i;
    float sum[2];
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        sum[item] = 0;
    }
    for (int j = 0; j < m; j++) {
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            sum[item] += a[j * n + items[item]];
        }
    }
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        if (item && items[item] == i) break;
        c[items[item]] = sum[item];
    }
""",
    "another condition beside": """\
    unsigned i = blockIdx.x * 2 * blockDim.x + threadIdx.x;
    if (m > 0 && i < n) {
        unsigned items[2];
        #pragma unroll
        for (int item = 0; item < 2; item++)
            items[item] = i + item * blockDim.x < n ? i + item * blockDim.x : i;
        float sum[2];
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            sum[item] = 0;
        }
        for (int j = m - 1; j >= 0; j--) {
            #pragma unroll
            for (int item = 0; item < 2; item++) {
                sum[item] = sum[item] * 0.5f + a[j * n + items[item]];
            }
        }
        #pragma unroll
        for (int item = 0; item < 2; item++) {
            if (item && items[item] == i) break;
            c[items[item]] = sum[item];
        }
    }
""",
}
