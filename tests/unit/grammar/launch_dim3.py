"""Launches whose grid and block are ``dim3`` variables of host code; see ``launch_spellings``."""

from __future__ import annotations

from tests.unit.grammar.launch_spellings import BOTH, FLAT, FOUR, HALF, ROWS, of

DIM3 = [
    of(
        "dim3 variables",
        FLAT,
        """
 void f(float *a, int n) {
-    dim3 block(16, 16);
+    dim3 block(32, 8);
-    dim3 grid((n + 15) / 16, (n + 15) / 16);
+    dim3 grid((n + 31) / 32, (n + 7) / 8);
     k<<<grid, block>>>(a, n);
 }
""",
    ),
    of(
        "dim3 variables by the members of another",
        FLAT,
        """
 void f(float *a, int n) {
-    const dim3 block(16, 16, 1);
+    const dim3 block(32, 8, 1);
     const dim3 grid((n + block.x - 1) / block.x, (n + block.y - 1) / block.y, 1);
     k<<<grid, block>>>(a, n);
 }
""",
    ),
    of(
        "dim3 variables, more items",
        FOUR,
        """
 void f(float *a, int n) {
     dim3 block = dim3(16, 16);
-    dim3 grid = dim3((n + block.x - 1) / block.x, (n + block.y - 1) / block.y);
+    dim3 grid = dim3((n + block.x * 4 - 1) / (block.x * 4), (n + block.y - 1) / block.y);
     k<<<grid, block>>>(a, n);
 }
""",
    ),
    of(
        "dim3 variables with braces",
        FLAT,
        """
 void f(float *a, int n) {
-    dim3 block{16, 16}, grid = {(n + 15u) / 16, (n + 15u) / 16};
+    dim3 block{32, 8}, grid = {(n + 31u) / 32, (n + 7u) / 8};
     k<<<grid, block>>>(a, n);
 }
""",
    ),
    of(
        "dim3 variables of one number",
        BOTH,
        """
 void f(float *a, int n) {
-    int threads = 256;
+    int threads = 128;
     dim3 block (threads);
-    dim3 grid ((n + threads - 1) / threads);
+    dim3 grid ((n + threads * 4 - 1) / (threads * 4));
     k<<<grid, block>>>(a, n);
 }
""",
    ),
    of(
        "a dim3 variable that looks like a function",
        FOUR,
        """
 void f(float *a, int n) {
-    dim3 grid(n), block(64);
+    dim3 grid((n + 3) / 4), block(64);
     k<<<grid, block>>>(a, n);
 }
""",
    ),
    of(
        "one macro for both axes",
        FLAT,
        """
 #define TILE 16
 void f(float *a, int n) {
-    dim3 block(TILE, TILE);
+    dim3 block(32, 8);
-    dim3 grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
+    dim3 grid((n + 31) / 32, (n + 7) / 8);
     k<<<grid, block>>>(a, n);
 }
""",
    ),
    of(
        "dim3 variables that another kernel uses too",
        FLAT,
        """
 void f(float *a, int n) {
     dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
     j<<<grid, block>>>(a, n);
-    k<<<grid, block>>>(a, n);
+    k<<<dim3((n + 31) / 32, (n + 7) / 8), dim3(32, 8)>>>(a, n);
 }
""",
    ),
    of(
        "dim3 variables that another kernel uses too, more items",
        FOUR,
        """
 void f(float *a, int n) {
     dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
     j<<<grid, block>>>(a, n);
-    k<<<grid, block>>>(a, n);
+    k<<<dim3((grid.x + 3) / 4, grid.y), block>>>(a, n);
 }
""",
    ),
    of(
        "dim3 parameters",
        BOTH,
        """
 void launch(float *a, int n, dim3 grid, dim3 block) {
-    k<<<grid, block>>>(a, n);
+    k<<<dim3((grid.x * block.x + 511) / 512, grid.y, grid.z), dim3(128, block.y, block.z)>>>(a, n);
 }
 void f(float *a, int n) {
     launch(a, n, dim3((n + 255) / 256), dim3(256));
 }
""",
    ),
    of(
        "dim3 members that are set one by one",
        BOTH,
        """
 void f(float *a, int n) {
     dim3 grid, block;
     block.x = 256;
     grid.x = (n + 255) / 256;
-    k<<<grid, block>>>(a, n);
+    k<<<dim3((grid.x * block.x + 511) / 512, grid.y, grid.z), dim3(128, block.y, block.z)>>>(a, n);
 }
""",
    ),
    of(
        "one dim3 variable for two blocks",
        HALF,
        """
 void f(float *a, int n) {
     dim3 grid((n + 63) / 64);
-    k<<<grid, 64>>>(a, n);
+    k<<<dim3((n + 127) / 128), 128>>>(a, n);
-    k<<<grid, 256>>>(a, n);
+    k<<<dim3(grid.x * 2), 128>>>(a, n);
 }
""",
    ),
    of(
        "variables of several blocks of code",
        HALF,
        """
 void f(float *a, int n) {
     {
-        dim3 grid(n / 256 + 1);
+        dim3 grid(n / 128 + 1);
-        k<<<grid, 256>>>(a, n);
+        k<<<grid, 128>>>(a, n);
     }
     {
         dim3 grid(n / 64 + 1);
         j<<<grid, 64>>>(a, n);
-        k<<<grid, 64>>>(a, n);
+        k<<<dim3(n / 128 + 1), 128>>>(a, n);
     }
 }
""",
    ),
    of(
        "a copy of a dim3 variable",
        FOUR,
        """
 void f(float *a, int n) {
-    dim3 grid((n + 63) / 64);
+    dim3 grid((n + 255) / 256);
     k<<<dim3(grid), dim3(64)>>>(a, n);
 }
""",
    ),
    of(
        "more blocks along y, in a dim3 variable",
        ROWS,
        """
 void f(float *a, int n) {
-    dim3 grid((n + 255) / 256);
+    dim3 grid((n + 255) / 256, 8);
     k<<<grid, 256>>>(a, n);
 }
""",
    ),
    of(
        "more blocks along z",
        {"k.times.z": 2},
        """
 void f(float *a, int n) {
-    k<<<dim3(n), 256>>>(a, n);
+    k<<<dim3(n, 1, 2), 256>>>(a, n);
 }
""",
    ),
]
"""Launches whose extents are in ``dim3`` variables."""
