"""Launches whose grid and block come from variables of host code; see ``launch_spellings``."""

from __future__ import annotations

from tests.unit.grammar.launch_dim3 import DIM3
from tests.unit.grammar.launch_spellings import (
    BOTH,
    FLAT,
    FOUR,
    HALF,
    LITERALS,
    ROWS,
    of,
)

TEMPLATE = """\
template <typename T> __global__ void k(T *a, int n) {
    a[blockIdx.x * blockDim.x + threadIdx.x] += n;
}
"""

NAMESPACE = """\
namespace gpu { namespace detail {
__global__ void k(float *a, int n) {
    a[blockIdx.x * blockDim.x + threadIdx.x] += n;
}
} }
"""

NUMBERS = [
    of(
        "variables of one launch",
        HALF,
        """
 void f(float *a, int n) {
-    const int threads = 256;
+    const int threads = 128;
     const int blocks = (n + threads - 1) / threads;
     k<<<blocks, threads>>>(a, n);
 }
""",
    ),
    of(
        "variables of one launch, more items",
        BOTH,
        """
 void f(float *a, int n) {
-    int threads = 256, blocks = (n + threads - 1) / threads;
+    int threads = 128, blocks = (n + threads * 4 - 1) / (threads * 4);
     for (int step = 0; step < 3; step++) k<<<blocks, threads>>>(a, n);
 }
""",
    ),
    of(
        "without spaces, more items",
        FOUR,
        """
 void f(float *a, int n) {
     int t=256;
-    k<<<(n+t-1)/t,t>>>(a,n);
+    k<<<(n+t*4-1)/(t*4),t>>>(a,n);
 }
""",
    ),
    of(
        "variables that another kernel uses too",
        BOTH,
        """
 void f(float *a, int n) {
     int threads = 256;
     int blocks = (n + threads - 1) / threads;
     j<<<blocks, threads>>>(a, n);
-    k<<<blocks, threads>>>(a, n);
+    k<<<(n + 511) / 512, 128>>>(a, n);
 }
""",
    ),
    of(
        "a number of blocks that the kernel is told",
        FOUR,
        """
 void f(float *a, int n) {
     unsigned int blocks = (n + 255) / 256;
-    k<<<blocks, 256>>>(a, blocks);
+    k<<<(blocks + 3) / 4, 256>>>(a, blocks);
 }
""",
    ),
    of(
        "a formula of which a variable changes",
        BOTH,
        """
 void f(float *a, int n) {
     int rows = n;
     int blocks = (rows + 255) / 256;
     rows += blocks;
-    k<<<blocks, 256>>>(a, rows + blocks);
+    k<<<(blocks + 1) / 2, 128>>>(a, rows + blocks);
 }
""",
    ),
    of(
        "a number that changes",
        BOTH,
        """
 void f(float *a, int n) {
     int blocks = (n + 255) / 256;
     if (blocks > 100) blocks = 100;
-    k<<<blocks, 256>>>(a, n);
+    k<<<(blocks + 1) / 2, 128>>>(a, n);
 }
""",
    ),
    of(
        "a number that is set later",
        FOUR,
        """
 void f(float *a, int n) {
     int blocks;
-    blocks = n / 256 + 1;
+    blocks = n / 1024 + 1;
     k<<<blocks, 256>>>(a, n);
 }
""",
    ),
    of(
        "parameters of the function",
        BOTH,
        """
 void launch(float *a, int n, int blocks, int threads) {
-    k<<<blocks, threads>>>(a, n);
+    k<<<(blocks * threads + 511) / 512, 128>>>(a, n);
 }
 void f(float *a, int n) {
     launch(a, n, (n + 255) / 256, 256);
 }
""",
    ),
    of(
        "a template parameter",
        FOUR,
        """
 template <int WIDTH> void launch(float *a, int n) {
-    k<<<(n + WIDTH - 1) / WIDTH, WIDTH>>>(a, n);
+    k<<<(n + WIDTH * 4 - 1) / (WIDTH * 4), WIDTH>>>(a, n);
 }
 void f(float *a, int n) {
     launch<64>(a, n);
 }
""",
    ),
    of(
        "a constant of the file",
        BOTH,
        """
 const int WIDTH = 256;
 void f(float *a, int n) {
-    k<<<(n + WIDTH - 1) / WIDTH, WIDTH>>>(a, n);
+    k<<<(n + 511) / 512, 128>>>(a, n);
 }
""",
    ),
    of(
        "a macro",
        HALF,
        """
 #define THREADS 256
 void f(float *a, int n) {
-    k<<<(n + THREADS - 1) / THREADS, THREADS>>>(a, n);
+    k<<<(n + 127) / 128, 128>>>(a, n);
 }
""",
    ),
    of(
        "a macro that stays",
        FOUR,
        """
 #define PER_BLOCK (32 * 4)
 void f(float *a, int n) {
-    k<<<(n + PER_BLOCK - 1) / PER_BLOCK, PER_BLOCK>>>(a, n);
+    k<<<(n + PER_BLOCK * 4 - 1) / (PER_BLOCK * 4), PER_BLOCK>>>(a, n);
 }
""",
    ),
    of(
        "a macro without parentheses",
        HALF,
        """
 #define MANY 60 + 4
 void f(float *a, int n) {
-    k<<<MANY, 256>>>(a, n);
+    k<<<(MANY) * 2, 128>>>(a, n);
 }
""",
    ),
    of(
        "a macro with an argument",
        FOUR,
        """
 #define BLOCKS(n) (((n) + 255) / 256)
 void f(float *a, int n) {
-    k<<<BLOCKS(n), 256>>>(a, n);
+    k<<<(BLOCKS(n) + 3) / 4, 256>>>(a, n);
 }
""",
    ),
    of(
        "a function that divides",
        BOTH,
        """
 inline int div_up(int a, int b) { return (a + b - 1) / b; }
 void f(float *a, int n) {
-    int threads = 256;
+    int threads = 128;
-    k<<<div_up(n, threads), threads>>>(a, n);
+    k<<<div_up(n, threads * 4), threads>>>(a, n);
 }
""",
    ),
    of(
        "another function",
        FOUR,
        """
 static unsigned many(int n) { return n / 256 + 1; }
 void f(float *a, int n) {
-    k<<<many(n), 256>>>(a, n);
+    k<<<(many(n) + 3) / 4, 256>>>(a, n);
 }
""",
    ),
    of(
        "rounded as a floating-point number, by a variable",
        BOTH,
        """
 void f(float *a, int n) {
-    size_t threads = 256;
+    size_t threads = 128;
-    int blocks = ceil((float)n / threads);
+    int blocks = ceil((float)n / (threads * 4));
     k<<<blocks, threads>>>(a, n);
 }
""",
    ),
    of(
        "auto",
        FOUR,
        """
 void f(float *a, int n) {
-    auto blocks = (n + 255) / 256;
+    auto blocks = (n + 1023) / 1024;
     k<<<blocks, 256>>>(a, n);
 }
""",
    ),
    of(
        "members of a struct",
        BOTH,
        """
 struct Plan { int blocks, threads; };
 void launch(float *a, int n, const Plan &plan) {
-    k<<<plan.blocks, plan.threads>>>(a, n);
+    k<<<(plan.blocks * plan.threads + 511) / 512, 128>>>(a, n);
 }
 void f(float *a, int n) {
     launch(a, n, Plan{(n + 255) / 256, 256});
 }
""",
    ),
    of(
        "more blocks along y, by a variable",
        ROWS,
        """
 void f(float *a, int n) {
     int blocks = (n + 255) / 256;
-    k<<<blocks, 256>>>(a, n);
+    k<<<dim3(blocks, 8), 256>>>(a, n);
 }
""",
    ),
]
"""Launches whose extents are numbers in variables."""

PLACES = [
    of(
        "two functions",
        BOTH,
        """
-void g(float *a, int n, int blocks) { k<<<blocks, 256>>>(a, n); }
+void g(float *a, int n, int blocks) { k<<<(blocks + 1) / 2, 128>>>(a, n); }
 void f(float *a, int n) {
-    int blocks = (n + 255) / 256;
+    int blocks = (n + 511) / 512;
-    k<<<blocks, 256>>>(a, n);
+    k<<<blocks, 128>>>(a, n);
     g(a, n, 7);
 }
""",
    ),
    of(
        "a template",
        BOTH,
        """
 void f(float *a, int n) {
-    k<float><<<(n + 255) / 256, 256>>>(a, n);
-    k<<<(n + 255) / 256, 256>>>(a, n);
+    k<float><<<(n + 511) / 512, 128>>>(a, n);
+    k<<<(n + 511) / 512, 128>>>(a, n);
 }
""",
        TEMPLATE,
    ),
    of(
        "a namespace",
        BOTH,
        """
 void f(float *a, int n) {
-    gpu::detail::k<<<(n + 255) / 256, 256>>>(a, n);
+    gpu::detail::k<<<(n + 511) / 512, 128>>>(a, n);
 }
""",
        NAMESPACE,
    ),
    of(
        "a condition without braces, tabs, and a comment",
        FOUR,
        """
 void f(float *a, int n) {
 \tint threads = 64; // not too many
 \tif (n > 0) // else there is nothing to do
-\t\tk<<<(n + threads - 1) / threads, /* threads */ threads>>>(a, n);
+\t\tk<<<(n + threads * 4 - 1) / (threads * 4), /* threads */ threads>>>(a, n);
 }
""",
    ),
    of(
        "several lines",
        FLAT,
        """
 void f(float *a, int n) {
     dim3 grid(
-        (n + 15) / 16,  // columns
+        (n + 31) / 32,  // columns
-        (n + 15) / 16   // rows
+        (n + 7) / 8   // rows
     );
     k<<<
         grid,
-        dim3(16, 16)
+        dim3(32, 8)
     >>>(a, n);
 }
""",
    ),
    of(
        "a question of the runtime about the kernel",
        FOUR,
        """
 void f(float *a, int n) {
     cudaFuncSetCacheConfig(k, cudaFuncCachePreferL1);
-    k<<<(n + 255) / 256, 256>>>(a, n);
+    k<<<(n + 1023) / 1024, 256>>>(a, n);
 }
""",
    ),
    of(
        "a member function",
        BOTH,
        """
 class Runner {
     int threads = 256;
 public:
-    void run(float *a, int n) { k<<<(n + threads - 1) / threads, threads>>>(a, n); }
+    void run(float *a, int n) { k<<<(n + 511) / 512, 128>>>(a, n); }
 };
 void f(float *a, int n) { Runner().run(a, n); }
""",
    ),
    of(
        "a lambda",
        FOUR,
        """
 void f(float *a, int n) {
-    auto go = [&](int count) { k<<<(count + 63) / 64, 64>>>(a, count); };
+    auto go = [&](int count) { k<<<(count + 255) / 256, 64>>>(a, count); };
     go(n);
 }
""",
    ),
]
"""Launches in other places."""

SPELLINGS = [*LITERALS, *NUMBERS, *DIM3, *PLACES]
