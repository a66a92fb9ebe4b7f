"""Host code launches kernels that do not compare their index with exactly the old work."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import EDIT_SETS, Expansion, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.host_code.launch_text import launch_splices
from gi_cuda.grammar.splice import spliced
from tests.unit.grammar.exact_shapes import BOTH, FLAT, FOUR, KERNEL, OTHER, SMALL
from tests.unit.grammar.launch_spellings import Spelling, line, of

LAUNCHES = [
    line(
        "a quotient, smaller blocks",
        SMALL,
        "k<<<n / 256, 256>>>(a, n);",
        "k<<<n / 256 * 4, 64>>>(a, n);",
    ),
    line(
        "a quotient, four items",
        FOUR,
        "k<<<n / 256, 256>>>(a, n);",
        "k<<<n / 256, 64>>>(a, n);",
    ),
    line("both", BOTH, "k<<<n / 512, 512>>>(a, n);", "k<<<n / 512 * 2, 64>>>(a, n);"),
    line("the block as it is", BOTH, "k<<<n / 64, 256>>>(a, n);", "k<<<n / 64, 64>>>(a, n);"),
    line("numbers", SMALL, "k<<<16, 128>>>(a, n);", "k<<<32, 64>>>(a, n);"),
    line(
        "rounded up",
        SMALL,
        "k<<<(n+127)/128,128>>>(a,n);",
        "k<<<(n+127)/128*2,64>>>(a,n);",
    ),
    line(
        "an expression that is no quotient",
        SMALL,
        "k<<<n + 1, 128>>>(a, n);",
        "k<<<(n + 1) * 2, 64>>>(a, n);",
    ),
    line(
        "an expression that stays",
        FOUR,
        "k<<<(n + 6) / 7, dim3(128, 2)>>>(a, n);",
        "k<<<(n + 6) / 7, dim3(32, 2)>>>(a, n);",
    ),
    line(
        "two axes",
        FLAT,
        "k<<<dim3(n / 16, n / 8), dim3(16, 8)>>>(a, n);",
        "k<<<dim3(n / 16 * 2, n / 8 * 2), dim3(8, 4)>>>(a, n);",
    ),
    of(
        "variables for the block and its number",
        SMALL,
        """
 void f(float *a, int n) {
-    const int threads = 256;
-    int blocks = n / threads;
+    const int threads = 64;
+    int blocks = n / 256 * 4;
     k<<<blocks, threads>>>(a, n);
 }
""",
    ),
    of(
        "dim3, four items",
        FOUR,
        """
 void f(float *a, int n) {
-    dim3 block(256);
-    dim3 grid((n + block.x - 1) / block.x);
+    dim3 block(64);
+    dim3 grid((n + 255) / 256);
     k<<<grid, block>>>(a, n);
 }
""",
    ),
    of(
        "variables that another kernel uses too",
        SMALL,
        """
 void f(float *a, int n) {
     int threads = 256, blocks = n / threads;
     j<<<blocks, threads>>>(a, n);
-    k<<<blocks, threads>>>(a, n);
+    k<<<blocks * 4, 64>>>(a, n);
 }
""",
    ),
    of(
        "a macro, smaller blocks",
        SMALL,
        """
 #define THREADS 256
 void f(float *a, int n) {
-    k<<<n / THREADS, THREADS>>>(a, n);
+    k<<<n / THREADS * (THREADS / 64), 64>>>(a, n);
 }
""",
    ),
    of(
        "a macro, four items",
        FOUR,
        """
 #define THREADS 256
 void f(float *a, int n) {
-    k<<<n / THREADS, THREADS>>>(a, n);
+    k<<<n / THREADS, THREADS / 4>>>(a, n);
 }
""",
    ),
    of(
        "a constant in a dim3",
        SMALL,
        """
 static constexpr unsigned THREADS = 128;
 void f(float *a, int n) {
-    dim3 block(THREADS), grid(n / block.x);
+    dim3 block(64), grid(n / THREADS * (THREADS / 64));
     k<<<grid, block>>>(a, n);
 }
""",
    ),
    of(
        "two launches",
        FOUR,
        """
 void f(float *a, int n) {
-    k<<<n / 256, 256>>>(a, n);
-    k<<<1, 4>>>(a, n);
+    k<<<n / 256, 64>>>(a, n);
+    k<<<1, 1>>>(a, n);
 }
""",
    ),
]

CERTAIN = "void f(float *a, int n) { k<<<n / T, T>>>(a, n); }\n"

UNKNOWN = {
    "a block that the new one does not divide": (
        SMALL,
        "void f(float *a, int n) { k<<<n / 96, 96>>>(a, n); }\n",
    ),
    "a block that is to grow": (SMALL, "void f(float *a, int n) { k<<<n / 32, 32>>>(a, n); }\n"),
    "fewer threads than items": (FOUR, "void f(float *a, int n) { k<<<n / 2, 2>>>(a, n); }\n"),
    "a block that comes from elsewhere": (
        SMALL,
        "void f(float *a, int n, int t) { k<<<n / t, t>>>(a, n); }\n",
    ),
    "a block that changes": (
        FOUR,
        "void f(float *a, int n) { int t = 256; if (n < 99) t = 64; k<<<n / t, t>>>(a, n); }\n",
    ),
    "one launch of two": (
        FOUR,
        "void f(float *a, int n) { k<<<n / 256, 256>>>(a, n); k<<<n, 1>>>(a, n); }\n",
    ),
    "a number of blocks that is no integer": (
        SMALL,
        "void f(float *a, int n) { k<<<n / 256.0f, 256>>>(a, n); }\n",
    ),
    "a macro that the new block does not divide": (SMALL, f"#define T 96\n{CERTAIN}"),
    "a macro that the build may define": (
        SMALL,
        f"#ifndef T\n#define T 256\n#endif\n{CERTAIN}",
    ),
    "a macro with two values": (
        SMALL,
        f"#ifdef LARGE\n#define T 256\n#else\n#define T 64\n#endif\n{CERTAIN}",
    ),
    "a macro that is an expression": (SMALL, f"#define T (32 * 4)\n{CERTAIN}"),
    "a variable of the file": (SMALL, f"int T = 256;\n{CERTAIN}"),
    "a constant that is computed": (SMALL, f"const int T = 4 * sizeof(int);\n{CERTAIN}"),
    "a parameter of a template beside a constant": (
        SMALL,
        f"const int T = 256;\nint g() {{ return T; }}\ntemplate <int T>\n{CERTAIN}",
    ),
}


@pytest.mark.parametrize("spelling", LAUNCHES, ids=str)
def test_a_launch_keeps_the_work_for_any_size(spelling: Spelling) -> None:
    head = KERNEL + OTHER
    source = Source("k.cu", head + spelling.before)
    found = launch_splices(read_code(source), spelling.shape)
    assert found.unknown == ()
    assert spliced(source, found.splices).text.removeprefix(head) == spelling.after


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_launch_that_is_not_certain_stays(name: str) -> None:
    shape, text = UNKNOWN[name]
    found = launch_splices(read_code(Source("k.cu", KERNEL + text)), shape)
    assert (found.splices, found.unknown) == ((), ("k",))


def test_a_constant_of_a_header_is_known() -> None:
    head = "#pragma once\n#define T 128\n"
    source = Source("k.cu", KERNEL + '#include "t.h"\n' + CERTAIN, beside=(head,))
    found = launch_splices(read_code(source), SMALL)
    assert "k<<<n / T * (T / 64), 64>>>" in spliced(source, found.splices).text


def test_a_variant_has_its_launches() -> None:
    text = KERNEL + "void f(float *a, int n) {\n    k<<<n / 256, 256>>>(a, n);\n}\n"
    program = CudaText(convert(Source("k.cu", text), types=EDIT_SETS["all"]))
    edits = {
        "block_k.cu_1": Expansion((), "block_K32"),
        "coarsen_k.cu_1": Expansion((), "coarsen_K4"),
    }
    assert program.shape(edits) == {"k.threads.x": 32, "k.items.x": 4, "k.exact.x": 1}
    assert "k<<<n / 256 * 2, 32>>>(a, n);" in program.changed(edits).text
    assert program.unknown_launches(edits) == ()


def test_a_guard_that_an_edit_deletes_makes_the_launch_exact() -> None:
    text = KERNEL.replace("    a[i]", "    if (i >= n) return;\n    a[i]")
    program = CudaText(convert(Source("k.cu", text), types=EDIT_SETS["all"]))
    edits = {"block_k.cu_1": Expansion((), "block_K64")}
    assert program.shape(edits) == {"k.threads.x": 64}
    edits["IF_k.cu_3"] = Expansion(body="")
    assert program.shape(edits) == {"k.threads.x": 64, "k.exact.x": 1}
