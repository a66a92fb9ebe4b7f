"""Kernels that do not compare their index: launches keep exactly the work of the old threads."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.mapping.block import Block
from gi_cuda.grammar.frontends.cuda.transforms.mapping.coarsen import Coarsen
from gi_cuda.grammar.splice import spliced
from gi_cuda.spec.launching.shape import InexactLaunch, Shape, launch_words
from tests.unit.grammar.exact_shapes import BOTH, FLAT, FOUR, SMALL, Y

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
