"""Block shapes: the kernels that are offered these, and the rewritten launches."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.mapping.block import Block
from gi_cuda.spec.launching.shape import Shape

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
Y = "int y = threadIdx.y + blockIdx.y * blockDim.y;"
Z = "int z = blockDim.z * blockIdx.z + threadIdx.z;"

OFFERED = {
    "one dimension": (f"{INDEX} if (i < n) a[i] = 0;", 1),
    "an early return": (f"{INDEX} if (i >= n) return; a[i] = 0;", 1),
    "a loop over the grid": (
        "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)"
        " a[i] = 0;",
        1,
    ),
    "an index that is used twice": (f"{INDEX} int j = i + 1; if (j < n) a[j] = i;", 1),
    "an index by __umul24": (
        "int i = __umul24(blockDim.x, blockIdx.x) + threadIdx.x; if (i < n) a[i] = 0;",
        1,
    ),
    "two dimensions": (f"{INDEX} {Y} if (i < n && y < n) a[y * n + i] = 0;", 2),
    "three": (f"{INDEX} {Y} {Z} if (i < n && y < n && z < n) a[(z * n + y) * n + i] = 0;", 3),
}

DECLINED = {
    "the thread's number alone": f"{INDEX} if (i < n) a[i] = threadIdx.x;",
    "the number of threads": f"{INDEX} if (i < n) a[i] = blockDim.x;",
    "one thread of each block": f"{INDEX} if (threadIdx.x == 0 && i < n) a[i] = 0;",
    "a number in the place of blockDim": "int i = blockIdx.x * 256 + threadIdx.x;"
    " if (i < n) a[i] = 0;",
    "the second axis alone": f"{Y} if (y < n) a[y] = 0;",
    "shared memory": f"__shared__ int s[256]; {INDEX} if (i < n) s[i % 256] = a[i] = 0;",
    "a barrier": f"{INDEX} __syncthreads(); if (i < n) a[i] = 0;",
}


def shapes(body: str) -> tuple[str, ...]:
    """The choices that a kernel with this body is offered."""
    code = read_code(Source("k.cu", f"__global__ void k(int *a, int n) {{ {body} }}\n"))
    return tuple(choice for site in Block().sites(code) for choice in site.choices)


@pytest.mark.parametrize("name", OFFERED)
def test_offered_with_as_many_axes_as_the_kernel_has(name: str) -> None:
    body, axes = OFFERED[name]
    found = shapes(body)
    assert found
    assert {choice.count("x") + 1 for choice in found} == {axes}


@pytest.mark.parametrize("name", DECLINED)
def test_where_it_is_not_offered(name: str) -> None:
    assert shapes(DECLINED[name]) == ()


def test_the_text_stays_and_launches_change() -> None:
    code = read_code(
        Source("k.cu", f"__global__ void k(int *a, int n) {{ {OFFERED['two dimensions'][0]} }}")
    )
    (site,) = Block().sites(code)
    rewrite = Block().rewrite(code, site.at, "block_K32x8")
    assert rewrite is not None
    assert rewrite.splices == ()
    assert rewrite.shape == {"k.threads.x": 32, "k.threads.y": 8}


@pytest.mark.parametrize(
    ("shape", "grid", "block", "expected"),
    [
        (Shape(), 7, 96, (7, 96)),
        (Shape(threads=64), 4, 256, (16, 64)),
        (Shape(threads=512), 5, 256, (3, 512)),
        (Shape(items=4), 10, 256, (3, 256)),
        (Shape(threads=128, items=2), 3, 256, (3, 128)),
        (Shape(times=32), 4, 128, (128, 128)),
        (Shape(threads=32, times=8), 1, 64, (16, 32)),
    ],
)
def test_launches_have_threads_for_all_work(
    shape: Shape, grid: int, block: int, expected: tuple[int, int]
) -> None:
    assert shape.extents(grid, block) == expected
    blocks, threads = expected
    assert blocks * threads * shape.items >= grid * block * shape.times
