"""Loops before and after their border tests were taken out of the interior."""

HEAD = """\
#define R 2
constexpr int SPAN = 3;
__device__ int total;
struct Shape { int w, h; };
__device__ void meet() { __syncthreads(); }
__device__ void move(int &x) { x++; }
__device__ inline int clamp(int v, int low, int high) { return min(max(low, v), high); }
template <int N>
__global__ void k(const int *in, int *out, int w, int h, int r, unsigned u) {
    const Shape s = {w, h};
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int sum = 0;
"""

KERNELS = {
    "clamped indices": (
        """\
    for (int i = -R; i <= R; i++)
        sum += in[y * w + min(max(x + i, 0), w - 1)];
    out[y * w + x] = sum;
""",
        """\
    if (x - R >= 0 && x + R <= w - 1) {
        for (int i = -R; i <= R; i++)
            sum += in[y * w + (x + i)];
    } else {
        for (int i = -R; i <= R; i++)
            sum += in[y * w + min(max(x + i, 0), w - 1)];
    }
    out[y * w + x] = sum;
""",
    ),
    "a nest with clamps in variables": (
        """\
    #pragma unroll
    for (int j = -r; j <= r; j++) {
        int row = max(0, min(h - 1, y + j));
        for (int i = -r; i <= r; i++) {
            int column = max(0, min(w - 1, x + i)); // the nearest one
            sum += in[row * w + column] * (i + j);
        }
    }
    out[y * w + x] = sum;
""",
        """\
    if (y + r <= h - 1 && y - r >= 0 && x + r <= w - 1 && x - r >= 0) {
        #pragma unroll
        for (int j = -r; j <= r; j++) {
            int row = y + j;
            for (int i = -r; i <= r; i++) {
                int column = x + i; // the nearest one
                sum += in[row * w + column] * (i + j);
            }
        }
    } else {
        #pragma unroll
        for (int j = -r; j <= r; j++) {
            int row = max(0, min(h - 1, y + j));
            for (int i = -r; i <= r; i++) {
                int column = max(0, min(w - 1, x + i)); // the nearest one
                sum += in[row * w + column] * (i + j);
            }
        }
    }
    out[y * w + x] = sum;
""",
    ),
    "a test of a nest": (
        """\
    for (int j = 0; j < SPAN; j++) {
        for (int i = 0; i < SPAN; i++) {
            int a = x + i - 1, b = y + j - 1;
            if (a >= 0 && a < w && b >= 0 && b < h) {
                // inside
                sum += in[b * w + a];
                sum ^= i;
            }
        }
    }
    out[y * w + x] = sum;
""",
        """\
    if (x - 1 >= 0 && x + SPAN - 2 < w && y - 1 >= 0 && y + SPAN - 2 < h) {
        for (int j = 0; j < SPAN; j++) {
            for (int i = 0; i < SPAN; i++) {
                int a = x + i - 1, b = y + j - 1;
                sum += in[b * w + a];
                sum ^= i;
            }
        }
    } else {
        for (int j = 0; j < SPAN; j++) {
            for (int i = 0; i < SPAN; i++) {
                int a = x + i - 1, b = y + j - 1;
                if (a >= 0 && a < w && b >= 0 && b < h) {
                    // inside
                    sum += in[b * w + a];
                    sum ^= i;
                }
            }
        }
    }
    out[y * w + x] = sum;
""",
    ),
    "a jump over what is outside": (
        """\
    for (int j = -1; j <= 1; ++j) {
        if (y + j < 0 || y + j >= h) continue;
        for (int i = -1; i <= 1; ++i) {
            if ((x + i < 0) || (x + i >= w))
                continue;
            sum += in[(y + j) * w + x + i];
        }
    }
    out[y * w + x] = sum;
""",
        """\
    if (y - 1 >= 0 && y + 1 < h && x - 1 >= 0 && x + 1 < w) {
        for (int j = -1; j <= 1; ++j) {
            for (int i = -1; i <= 1; ++i) {
                sum += in[(y + j) * w + x + i];
            }
        }
    } else {
        for (int j = -1; j <= 1; ++j) {
            if (y + j < 0 || y + j >= h) continue;
            for (int i = -1; i <= 1; ++i) {
                if ((x + i < 0) || (x + i >= w))
                    continue;
                sum += in[(y + j) * w + x + i];
            }
        }
    }
    out[y * w + x] = sum;
""",
    ),
    "a clamp": (
        """\
    for (int i = 0; i < N; i++) sum += in[y * w + clamp(x + i - R, 0, w - 1)] * i;
    out[y * w + x] = sum;
""",
        """\
    if (x - R >= 0 && x + N - R - 1 <= w - 1) {
        for (int i = 0; i < N; i++) sum += in[y * w + (x + i - R)] * i;
    } else {
        for (int i = 0; i < N; i++) sum += in[y * w + clamp(x + i - R, 0, w - 1)] * i;
    }
    out[y * w + x] = sum;
""",
    ),
    "a choice": (
        """\
    for (int i = 0; i < 2 * r + 1; i += 1) {
        sum += x + i - r >= 0 && x + i - r < w ? in[y * w + x + i - r] : 0;
    }
    out[y * w + x] = sum;
""",
        """\
    if (x - r >= 0 && x + 2 * r - r < w) {
        for (int i = 0; i < 2 * r + 1; i += 1) {
            sum += in[y * w + x + i - r];
        }
    } else {
        for (int i = 0; i < 2 * r + 1; i += 1) {
            sum += x + i - r >= 0 && x + i - r < w ? in[y * w + x + i - r] : 0;
        }
    }
    out[y * w + x] = sum;
""",
    ),
    "mirrored comparisons": (
        """\
    for (int i = -r; i <= r; i++) sum += (0 <= x - i && w > x - i) ? in[y * w + x - i] : -1;
    out[y * w + x] = sum;
""",
        """\
    if (0 <= x - r && w > x + r) {
        for (int i = -r; i <= r; i++) sum += in[y * w + x - i];
    } else {
        for (int i = -r; i <= r; i++) sum += (0 <= x - i && w > x - i) ? in[y * w + x - i] : -1;
    }
    out[y * w + x] = sum;
""",
    ),
    "indices that are mirrored at the border": (
        """\
    for (int i = -r; r >= i; i++) {
        int c = x + i;
        if (c < 0) c = -c % w;
        if (c > w - 1) {
            c = w - 1 - c % w;
        }
        sum += in[y * w + c];
    }
    out[y * w + x] = sum;
""",
        """\
    if (x - r >= 0 && x + r <= w - 1) {
        for (int i = -r; r >= i; i++) {
            int c = x + i;
            sum += in[y * w + c];
        }
    } else {
        for (int i = -r; r >= i; i++) {
            int c = x + i;
            if (c < 0) c = -c % w;
            if (c > w - 1) {
                c = w - 1 - c % w;
            }
            sum += in[y * w + c];
        }
    }
    out[y * w + x] = sum;
""",
    ),
    "a test with another branch": (
        """\
    for (int i = 0; i < N; i++) {
        if (x + i < w) {
            sum += in[y * w + x + i];
        } else {
            sum--;
        }
    }
    out[y * w + x] = sum;
""",
        """\
    if (x + N - 1 < w) {
        for (int i = 0; i < N; i++) {
            sum += in[y * w + x + i];
        }
    } else {
        for (int i = 0; i < N; i++) {
            if (x + i < w) {
                sum += in[y * w + x + i];
            } else {
                sum--;
            }
        }
    }
    out[y * w + x] = sum;
""",
    ),
    "a test that is one of several": (
        """\
    for (int i = 1; i <= r; i++) {
        if (x + i < w && in[y * w + x] > 0)
            sum += in[y * w + x + i];
        if (x < i || x - i < 0 || i == 3) continue;
        sum -= in[y * w + x - i];
    }
    out[y * w + x] = sum;
""",
        """\
    if (x + r < w && x - r >= 0) {
        for (int i = 1; i <= r; i++) {
            if (in[y * w + x] > 0)
                sum += in[y * w + x + i];
            if (x < i || i == 3) continue;
            sum -= in[y * w + x - i];
        }
    } else {
        for (int i = 1; i <= r; i++) {
            if (x + i < w && in[y * w + x] > 0)
                sum += in[y * w + x + i];
            if (x < i || x - i < 0 || i == 3) continue;
            sum -= in[y * w + x - i];
        }
    }
    out[y * w + x] = sum;
""",
    ),
    "factors": (
        """\
    for (int i = 0; i < r; i++) {
        int c = x + i * s.w, d = y + 3 * i;
        if (c >= 0 && c < w && d < h) sum += in[d * w + c];
    }
    out[y * w + x] = sum;
""",
        """\
    if (x >= 0 &&
        x + s.w * (r - 1) >= 0 &&
        x < w &&
        x + s.w * (r - 1) < w &&
        y + 3 * (r - 1) < h) {
        for (int i = 0; i < r; i++) {
            int c = x + i * s.w, d = y + 3 * i;
            sum += in[d * w + c];
        }
    } else {
        for (int i = 0; i < r; i++) {
            int c = x + i * s.w, d = y + 3 * i;
            if (c >= 0 && c < w && d < h) sum += in[d * w + c];
        }
    }
    out[y * w + x] = sum;
""",
    ),
    "a clamp that is a factor": (
        """\
    int i;
    for (i = -R; i < R; i++) sum += in[min(max(y + i, 0), h - 1) * w + x] + max(x + i, 0) * 2;
    out[y * w + x] = sum;
""",
        """\
    int i;
    if (y - R >= 0 && y + R - 1 <= h - 1 && x - R >= 0) {
        for (i = -R; i < R; i++) sum += in[(y + i) * w + x] + (x + i) * 2;
    } else {
        for (i = -R; i < R; i++) sum += in[min(max(y + i, 0), h - 1) * w + x] + max(x + i, 0) * 2;
    }
    out[y * w + x] = sum;
""",
    ),
    "a loop that is a branch": (
        """\
    if (r > 1)
        for (int i = 0; i < 8; i++) sum += in[y * w + min(x + i, w - 1)];
    else
        sum = 1;
    out[y * w + x] = sum;
""",
        """\
    if (r > 1) {
        if (x + 7 <= w - 1) {
            for (int i = 0; i < 8; i++) sum += in[y * w + (x + i)];
        } else {
            for (int i = 0; i < 8; i++) sum += in[y * w + min(x + i, w - 1)];
        }
    }
    else
        sum = 1;
    out[y * w + x] = sum;
""",
    ),
    "a loop around positions": (
        """\
    for (int row = 0; row < h; row++) {
        int a = x + row % 2;
        for (int i = 0; i < 4; i++) {
            if (a + i < w) sum += in[row * w + a + i];
        }
    }
    out[y * w + x] = sum;
""",
        """\
    for (int row = 0; row < h; row++) {
        int a = x + row % 2;
        if (a + 3 < w) {
            for (int i = 0; i < 4; i++) {
                sum += in[row * w + a + i];
            }
        } else {
            for (int i = 0; i < 4; i++) {
                if (a + i < w) sum += in[row * w + a + i];
            }
        }
    }
    out[y * w + x] = sum;
""",
    ),
    "a loop that ends early": (
        """\
    for (int i = 0; i < r; i++) {
        if (x + i >= w) break;
        sum += in[y * w + x + i];
        if (sum > 99) return;
    }
    out[y * w + x] = sum;
""",
        """\
    if (x + r - 1 < w) {
        for (int i = 0; i < r; i++) {
            sum += in[y * w + x + i];
            if (sum > 99) return;
        }
    } else {
        for (int i = 0; i < r; i++) {
            if (x + i >= w) break;
            sum += in[y * w + x + i];
            if (sum > 99) return;
        }
    }
    out[y * w + x] = sum;
""",
    ),
    "limits of a structure": (
        """\
    for (int i = -1; i < SPAN; ++i) {
        int c = x + i, d = y - i;
        if (c < s.w && c >= 0 && d >= 0 && d < s.h) { sum += in[d * s.w + c]; }
    }
    out[y * w + x] = sum;
""",
        """\
    if (x + SPAN - 1 < s.w && x - 1 >= 0 && y - SPAN + 1 >= 0 && y + 1 < s.h) {
        for (int i = -1; i < SPAN; ++i) {
            int c = x + i, d = y - i;
            sum += in[d * s.w + c];
        }
    } else {
        for (int i = -1; i < SPAN; ++i) {
            int c = x + i, d = y - i;
            if (c < s.w && c >= 0 && d >= 0 && d < s.h) { sum += in[d * s.w + c]; }
        }
    }
    out[y * w + x] = sum;
""",
    ),
}
DECLINED = {
    "a clamp of other numbers": ("for (int i = 0; i < r; i++) sum += in[clamp(0, x + i, w - 1)];"),
    "no test": "for (int i = 0; i < r; i++) sum += in[x];",
    "a test of the counter alone": "for (int i = 0; i < r; i++) if (i + 1 < w) sum += in[i];",
    "a test of a parameter": "for (int i = 0; i < r; i++) if (r + i < w) sum += in[i];",
    "a test of the position alone": "for (int i = 0; i < r; i++) if (x < w) sum += in[i];",
    "an unsigned limit": "for (int i = 0; i < r; i++) if (x + i < u) sum += in[x + i];",
    "an unsigned counter": "for (unsigned i = 0; i < 4; i++) if (x + i < w) sum += in[x + i];",
    "an unsigned position": (
        "unsigned p = x; for (int i = 0; i < r; i++) if (p + i < w) sum += in[p + i];"
    ),
    "an unsigned value in a variable": (
        "for (int i = 0; i < r; i++) { int c = threadIdx.x + i; if (c < w) sum += in[c]; }"
    ),
    "a position that the loop changes": (
        "for (int i = 0; i < r; i++) { if (y + i < h) sum += in[y + i]; y++; }"
    ),
    "a limit that the loop changes": (
        "for (int i = 0; i < r; i++) { if (x + i < w) sum += in[x + i]; w--; }"
    ),
    "a limit that a pointer leads to": (
        "int *p = &h; for (int i = 0; i < r; i++) { if (y + i < h) sum += in[y + i]; *p = i; }"
    ),
    "a limit that a reference stands for": (
        "int &p = h; for (int i = 0; i < r; i++) { if (y + i < h) sum += in[y + i]; p = i; }"
    ),
    "a counter that the body changes": (
        "for (int i = 0; i < r; i++) { if (x + i < w) sum += in[x + i]; i += sum; }"
    ),
    "a counter that a function changes": (
        "for (int i = 0; i < r; i++) { if (x + i < w) sum += in[x + i]; move(i); }"
    ),
    "a limit in memory": "for (int i = 0; i < r; i++) if (x + i < in[y]) sum += in[x + i];",
    "a limit that other threads change": (
        "for (int i = 0; i < r; i++) { if (x + i < total) sum += in[x + i]; total = i; }"
    ),
    "a bound in memory": "for (int i = 0; i < in[x + i]; i++) if (x + i < w) sum += in[x + i];",
    "a loop that counts down": "for (int i = r; i >= 0; i--) if (x + i < w) sum += in[x + i];",
    "a step that may be negative": (
        "for (int i = 0; i < r; i += h) if (x + i < w) sum += in[x + i];"
    ),
    "a loop without a limit": "for (int i = 0; sum < r; i++) if (x + i < w) sum += in[x + i];",
    "a while loop": "int i = 0; while (i < r) { if (x + i < w) sum += in[x + i]; i++; }",
    "a barrier": (
        "for (int i = 0; i < r; i++) { if (x + i < w) sum += in[x + i]; __syncthreads(); }"
    ),
    "a barrier in a function": (
        "for (int i = 0; i < r; i++) { if (x + i < w) sum += in[x + i]; meet(); }"
    ),
    "a variable that is assigned elsewhere": (
        "for (int i = 0; i < r; i++) { int c = x + i; c ^= 1; if (c < w) sum += in[c]; }"
    ),
    "an index that one branch changes": (
        "for (int i = 0; i < r; i++) { int c = x + i; if (in[x] > 2) c = 0; if (c < w) sum++; }"
    ),
    "an index that a branch inside changes": (
        "for (int i = 0; i < r; i++) { int c = x + i; if (c < w) { sum += in[c]; c = 0; } }"
    ),
    "values of different types": (
        "float f = 0; for (int i = 0; i < r; i++) f += x + i < w ? in[x + i] : 0.5;"
    ),
    "a product of positions": (
        "for (int i = 0; i < r; i++) if ((x + i) * (y + i) < w) sum += in[x + i];"
    ),
    "a quotient": "for (int i = 0; i < r; i++) if ((x + i) / 2 < w) sum += in[x + i];",
    "a directive": "for (int i = 0; i < r; i++)\n#ifdef A\nif (x + i < w)\n#endif\nsum += in[x];",
    "a comparison for being equal": "for (int i = 0; i < r; i++) if (x + i != w) sum += in[x + i];",
    "a minimum of what was found": (
        "for (int i = 0; i < r; i++) { sum = min(x + i, sum); out[y] = max(sum, x + i); }"
    ),
}
