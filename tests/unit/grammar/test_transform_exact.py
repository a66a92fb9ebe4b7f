"""Kernels that do not compare their index: launches keep exactly the work of the old threads."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gi_cuda.grammar import EDIT_SETS, Expansion, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.grammar.frontends.cuda.transforms.block import Block
from gi_cuda.grammar.frontends.cuda.transforms.coarsen import Coarsen
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.host_code.launch_text import launch_splices
from gi_cuda.grammar.splice import spliced
from gi_cuda.spec.shape import InexactLaunch, Shape, launch_words
from tests.unit.grammar.launch_spellings import Spelling, line, of

KERNEL = """\
__global__ void k(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = 2 * a[i];
}
"""
OTHER = "__global__ void j(float *a, int n) { a[blockIdx.x] = n; }\n"
Y = "    int y = blockIdx.y * blockDim.y + threadIdx.y;\n"

SMALL = {"k.threads.x": 64, "k.exact.x": 1}
"""Blocks of 64 threads."""

FOUR = {"k.items.x": 4, "k.exact.x": 1}
"""Four items for each thread."""

BOTH = {**SMALL, **FOUR}
FLAT = {"k.threads.x": 8, "k.threads.y": 4, "k.exact.x": 1, "k.exact.y": 1}

# -- kernels ------------------------------------------------------------------------------------

COARSENED = {
    "one statement": (
        "coarsen_K2",
        """
__global__ void k(float *a) {
    a[blockIdx.x * blockDim.x + threadIdx.x] = 0;
}
""",
        """
__global__ void k(float *a) {
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        a[(blockIdx.x * 2 + item) * blockDim.x + threadIdx.x] = 0;
    }
}
""",
    ),
    "an index of size_t, tabs": (
        "coarsen_K8",
        """
__global__ void k(const double *a, double *b) {
	const size_t i = (size_t)blockDim.x * blockIdx.x + threadIdx.x;

	b[i] = a[i] + 1; // one more
}
""",
        """
__global__ void k(const double *a, double *b) {
	#pragma unroll
	for (int item = 0; item < 8; item++) {
		const size_t i = (size_t)blockDim.x * (blockIdx.x * 8 + item) + threadIdx.x;

		b[i] = a[i] + 1; // one more
	}
}
""",
    ),
    "a return that the data decides": (
        "coarsen_K4",
        """
__global__ void k(float *a)
{
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  float x = a[i];
  if (x < 0)
    return;
  a[i] = sqrtf(x);
}
""",
        """
__global__ void k(float *a)
{
  #pragma unroll
  for (int item = 0; item < 4; item++) {
    const int i = threadIdx.x + (blockIdx.x * 4 + item) * blockDim.x;
    float x = a[i];
    if (x < 0)
      continue;
    a[i] = sqrtf(x);
  }
}
""",
    ),
    "a row in a loop": (
        "coarsen_K2",
        """
__global__ void k(const float *a, float *b, int m) {
    float sum = 0;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < m; j++)
        sum += a[i * m + j];
    b[i] = sum;
}
""",
        """
__global__ void k(const float *a, float *b, int m) {
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        float sum = 0;
        int i = (blockIdx.x * 2 + item) * blockDim.x + threadIdx.x;
        for (int j = 0; j < m; j++)
            sum += a[i * m + j];
        b[i] = sum;
    }
}
""",
    ),
    "two statements": (
        "coarsen_K2",
        """
__global__ void k(float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = a[i] / 3;
    a[i + 5] = 1;
}
""",
        """
__global__ void k(float *a) {
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        int i = (blockIdx.x * 2 + item) * blockDim.x + threadIdx.x;
        a[i] = a[i] / 3;
        a[i + 5] = 1;
    }
}
""",
    ),
    "a condition that the data decides": (
        "coarsen_K2",
        """
__global__ void k(float *a, const int *at) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (a[i] > 0)
        a[at[i]] = 0;
}
""",
        """
__global__ void k(float *a, const int *at) {
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        int i = (blockIdx.x * 2 + item) * blockDim.x + threadIdx.x;
        if (a[i] > 0)
            a[at[i]] = 0;
    }
}
""",
    ),
    "two dimensions, along y": (
        "coarsen_K2y",
        """
__global__ void k(float *a, int w) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    a[y * w + x] = 0;
}
""",
        """
__global__ void k(float *a, int w) {
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        int x = blockIdx.x * blockDim.x + threadIdx.x;
        int y = (blockIdx.y * 2 + item) * blockDim.y + threadIdx.y;
        a[y * w + x] = 0;
    }
}
""",
    ),
    "the thread's number along another axis": (
        "coarsen_K2",
        """
__global__ void k(float *a) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    a[threadIdx.y * 64 + x] = 0;
}
""",
        """
__global__ void k(float *a) {
    #pragma unroll
    for (int item = 0; item < 2; item++) {
        int x = (blockIdx.x * 2 + item) * blockDim.x + threadIdx.x;
        a[threadIdx.y * 64 + x] = 0;
    }
}
""",
    ),
}

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"

NEITHER = {
    "no index": "a[blockIdx.x * 256 + threadIdx.x] = 0;",
    "the thread's number alone": f"{INDEX} a[i] = threadIdx.x;",
    "the number of threads": f"{INDEX} a[i] = blockDim.x;",
    "a barrier": f"{INDEX} a[i] = 0; __syncthreads();",
    "shared memory": f"__shared__ int s[64]; {INDEX} a[i] = s[0];",
    "a shuffle": f"{INDEX} a[i] = __shfl_sync(~0u, a[i], 0);",
    "a shuffle of another file": f"{INDEX} a[i] = my_shfl_xor(a[i], 4);",
}
"""Bodies of kernels that no other launch is certain for."""

NOT_COARSENED = {
    "a stride": f"{INDEX} a[i] = blockDim.x * gridDim.x;",
    "a loop over the grid that is no for": f"{INDEX} while (i < n) {{ a[i] = 0;"
    " i += gridDim.x * blockDim.x; }",
    "a parameter that is moved": f"{INDEX} a += i; *a = 0;",
    "a parameter that is moved, guarded": f"{INDEX} if (i < n) {{ a += i; *a = 0; }}",
    "a parameter that counts": f"{INDEX} a[i] = n++;",
    "a return within a loop": f"{INDEX} for (int j = 0; j < n; j++) if (a[j] > 0) return;"
    " a[i] = 0;",
}


def kernel(body: str) -> str:
    """Return a kernel with a body."""
    return f"__global__ void k(int *a, int n) {{ {body} }}\n"


@pytest.mark.parametrize("name", COARSENED)
def test_the_text_before_and_after(name: str) -> None:
    choice, before, after = COARSENED[name]
    code = read_code(Source("k.cu", before))
    (site,) = Coarsen().sites(code)
    assert choice in site.choices
    rewrite = Coarsen().rewrite(code, site.at, choice)
    assert rewrite is not None
    assert spliced(code.source, rewrite.splices).text == after
    axis = "y" if choice.endswith("y") else "x"
    count = int(choice.removesuffix("y").rpartition("K")[2])
    assert rewrite.shape == {f"k.items.{axis}": count, f"k.exact.{axis}": 1}


@pytest.mark.parametrize("body", NEITHER.values(), ids=NEITHER.keys())
def test_where_neither_is_offered(body: str) -> None:
    code = read_code(Source("k.cu", kernel(body)))
    assert [*Block().sites(code), *Coarsen().sites(code)] == []


@pytest.mark.parametrize("body", NOT_COARSENED.values(), ids=NOT_COARSENED.keys())
def test_where_a_thread_does_one_item_alone(body: str) -> None:
    code = read_code(Source("k.cu", kernel(body)))
    assert list(Coarsen().sites(code)) == []
    assert len(list(Block().sites(code))) == 1


def test_a_name_that_has_a_shuffles_letters_is_none() -> None:
    code = read_code(Source("k.cu", kernel(f"{INDEX} a[i] = cashflow(n);")))
    assert len(list(Coarsen().sites(code))) == 1


@pytest.mark.parametrize(
    ("conditions", "exact"),
    [
        ("", {"k.exact.x": 1, "k.exact.y": 1}),
        ("if (i >= n) return;", {"k.exact.y": 1}),
        ("if (y >= n) return;", {"k.exact.x": 1}),
        ("if (i >= n || y >= n) return;", {}),
    ],
)
def test_a_block_is_exact_along_the_axes_that_are_not_compared(
    conditions: str, exact: Mapping[str, int]
) -> None:
    code = read_code(Source("k.cu", kernel(f"{INDEX}\n{Y}{conditions} a[y * 64 + i] = 0;")))
    (site,) = Block().sites(code)
    rewrite = Block().rewrite(code, site.at, "block_K32x4")
    assert rewrite is not None
    assert rewrite.splices == ()
    assert rewrite.shape == {"k.threads.x": 32, "k.threads.y": 4, **exact}


# -- shapes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "grid", "block", "expected"),
    [
        (Shape(64, exact=1), 5, 256, (20, 64)),
        (Shape(256, exact=1), 5, 256, (5, 256)),
        (Shape(items=4, exact=1), 5, 256, (5, 64)),
        (Shape(64, items=4, exact=1), 5, 256, (5, 64)),
        (Shape(32, items=4, exact=1), 5, 256, (10, 32)),
        (Shape(1, exact=1), 7, 1, (7, 1)),
        (Shape(64, times=2, exact=1), 5, 256, (40, 64)),
    ],
)
def test_an_exact_launch_has_the_same_work(
    shape: Shape, grid: int, block: int, expected: tuple[int, int]
) -> None:
    assert shape.extents(grid, block) == expected
    blocks, threads = expected
    assert blocks * threads * shape.items == grid * block * shape.times


@pytest.mark.parametrize(
    ("shape", "block"),
    [
        (Shape(64, exact=1), 96),
        (Shape(512, exact=1), 256),
        (Shape(items=8, exact=1), 4),
        (Shape(items=4, exact=1), 30),
        (Shape(64, items=8, exact=1), 256),
    ],
)
def test_a_launch_that_does_not_come_out_exact_is_refused(shape: Shape, block: int) -> None:
    for grid in (1, 2, 8):
        with pytest.raises(InexactLaunch, match=f"the work of {block} threads cannot be"):
            shape.extents(grid, block)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (
            SMALL,
            "launch k with grid.x = old grid.x * old block.x / 64 and blocks of 64 threads,"
            " only where old block.x is a multiple of 64",
        ),
        (
            FOUR,
            "launch k with block.x = old block.x / 4, only where old block.x is a multiple of 4",
        ),
        (
            BOTH,
            "launch k with grid.x = old grid.x * old block.x / 256 and blocks of 64 threads,"
            " only where old block.x is a multiple of 256",
        ),
        (
            {**FLAT, "k.exact.x": 0},
            "launch k with grid.x = ceil(old grid.x * old block.x / 8),"
            " grid.y = old grid.y * old block.y / 4 and blocks of 8 x 4 threads,"
            " only where old block.y is a multiple of 4",
        ),
        (
            FLAT,
            "launch k with grid.x = old grid.x * old block.x / 8,"
            " grid.y = old grid.y * old block.y / 4 and blocks of 8 x 4 threads,"
            " only where old block.x is a multiple of 8 and old block.y is a multiple of 4",
        ),
    ],
)
def test_the_words_for_a_launch_say_the_condition(shape: Mapping[str, int], words: str) -> None:
    assert launch_words("k", shape) == words


# -- launches in host code ----------------------------------------------------------------------

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
