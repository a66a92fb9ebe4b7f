"""Smaller blocks for kernels whose threads take turns."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.host_code.launch_text import launch_splices
from gi_cuda.grammar.frontends.cuda.transforms.mapping.block import Block
from gi_cuda.grammar.splice import spliced
from gi_cuda.spec.launching.shape import InexactLaunch, Shape, launch_words

LOOP = "for (int i = threadIdx.x; i < n; i += blockDim.x) a[blockIdx.x * n + i] = 0;"
KEPT = {"k.threads.x": 64, "k.kept.x": 1}

OFFERED = {
    "a loop": LOOP,
    "names for both": "const int t = threadIdx.x, d = blockDim.x;\n"
    "    for (int i = t; i < n; i += d) a[i + blockIdx.x * n] = i;",
    "a counter from before": "int i; for (i = threadIdx.x; i < n; i += blockDim.x) a[i] = i;",
    "casts": "for (int i = (int)threadIdx.x; i < n; i += (int)(blockDim.x)) a[i] = i;",
    "memory that threads share": f"__shared__ int s[32];\n    {LOOP}\n    __syncthreads();\n"
    "    if (threadIdx.x == 0) a[0] = s[0];",
    "rows of a grid in two dimensions": "for (int i = threadIdx.x; i < n; i += blockDim.x)"
    " a[(blockIdx.y * gridDim.x + blockIdx.x) * n + i] = 0;",
}

DECLINED = {
    "another step": "for (int i = threadIdx.x; i < n; i += 64) a[i] = 0;",
    "a step that multiplies": "for (int i = threadIdx.x; i < n; i *= blockDim.x) a[i] = 0;",
    "another beginning": "for (int i = 0; i < n; i += blockDim.x) a[i] = 0;",
    "a name for something else": "int t = threadIdx.x + 1;"
    " for (int i = t; i < n; i += blockDim.x) a[i] = 0;",
    "no loop": "a[blockIdx.x * n + threadIdx.x] = 0;",
    "blocks with rows": f"{LOOP} a[0] = threadIdx.y;",
    "a template that is told the block": f"typedef cub::BlockReduce<int, 256> R; {LOOP}",
}


def source(body: str, host: str = "") -> Source:
    return Source("k.cu", f"__global__ void k(int *a, int n) {{\n    {body}\n}}\n{host}")


@pytest.mark.parametrize("name", OFFERED)
def test_blocks_of_one_dimension_are_offered(name: str) -> None:
    code = read_code(source(OFFERED[name]))
    (site,) = Block().sites(code)
    assert site.choices == tuple(f"block_K{n}" for n in (32, 64, 128, 256, 512, 1024))
    rewrite = Block().rewrite(code, site.at, "block_K64")
    assert rewrite is not None
    assert (rewrite.splices, rewrite.shape) == ((), KEPT)


@pytest.mark.parametrize("name", DECLINED)
def test_where_none_is_offered(name: str) -> None:
    assert list(Block().sites(read_code(source(DECLINED[name])))) == []


def test_the_grid_stays_and_the_block_is_a_part_of_the_old_one() -> None:
    assert Shape(threads=64, kept=1).extents(7, 256) == (7, 64)
    for block in (32, 96):
        with pytest.raises(
            InexactLaunch, match=f"64 threads of a block are no part of its {block}"
        ):
            Shape(threads=64, kept=1).extents(7, block)
    assert launch_words("k", KEPT) == (
        "launch k with the same grid and blocks of 64 threads, only where old block.x is a multiple"
        " of 64"
    )


LAUNCHES = {
    "numbers": ("k<<<rows, 256>>>(a, n);", "k<<<rows, 64>>>(a, n);"),
    "a variable": (
        "int threads = 256; k<<<rows, threads>>>(a, n);",
        "int threads = 64; k<<<rows, threads>>>(a, n);",
    ),
    "a grid of the old block": (
        "int threads = 256; k<<<n / threads, threads>>>(a, n);",
        "int threads = 64; k<<<n / 256, threads>>>(a, n);",
    ),
    "a constant": (
        "const dim3 block(128); k<<<dim3(rows, 2), block, 64>>>(a, n);",
        "const dim3 block(64); k<<<dim3(rows, 2), block, 64>>>(a, n);",
    ),
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_launches_keep_their_grids(name: str) -> None:
    head = "void f(int *a, int n, int rows, int t) {{ {} }}\n"
    before, after = (source(LOOP, head.format(one)) for one in LAUNCHES[name])
    found = launch_splices(read_code(before), KEPT)
    assert found.unknown == ()
    assert spliced(before, found.splices).text == after.text


@pytest.mark.parametrize("launch", ["k<<<rows, t>>>(a, n);", "k<<<rows, 96>>>(a, n);"])
def test_a_block_that_is_not_known_or_no_multiple_is_left_to_the_reader(launch: str) -> None:
    text = source(LOOP, f"void f(int *a, int n, int rows, int t) {{ {launch} }}\n")
    found = launch_splices(read_code(text), KEPT)
    assert (found.splices, found.unknown) == ((), ("k",))
