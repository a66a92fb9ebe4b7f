"""Blocks that share barriers: the text, and where they are not offered."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, read_code
from gi_cuda.grammar.frontends.cuda.transforms.mapping.merge import Merge
from gi_cuda.grammar.splice import spliced
from tests.unit.grammar.merge_kernels import BEFORE, HEAD
from tests.unit.grammar.merged_kernels import AFTER

START = "    __shared__ float tile[8];\n    int i = blockIdx.x * 8 + threadIdx.x;\n"
LOAD = "    tile[threadIdx.x] = a[i];\n    __syncthreads();\n"
STORE = "    c[i] = tile[7 - threadIdx.x];\n"

DECLINED = {
    "threads that work alone": STORE.replace("c[i]", "c[blockIdx.x]").replace("tile", "a"),
    "no barrier": START + LOAD.replace("    __syncthreads();\n", "") + STORE,
    "a barrier that some blocks reach": START
    + "    if (i < n) {\n        tile[threadIdx.x] = a[i];\n        __syncthreads();\n    }\n"
    + STORE,
    "a loop of another length for each block": START
    + "    for (int j = 0; j < blockIdx.x; j++) {\n        tile[threadIdx.x] = a[j];\n"
    "        __syncthreads();\n    }\n" + STORE,
    "a loop that a block leaves": START
    + "    for (int j = 0; j < n; j++) {\n        if (j > i) break;\n"
    "        tile[threadIdx.x] = a[j];\n        __syncthreads();\n    }\n" + STORE,
    "a return from a loop": START
    + LOAD
    + "    for (int j = 0; j < n; j++) if (a[j] > a[i]) return;\n"
    + STORE,
    "the number of blocks": START + LOAD + STORE.replace("c[i]", "c[i + gridDim.x]"),
    "no number of the block": START.replace("blockIdx.x", "m") + LOAD + STORE,
    "the number of the block in a function": START.replace("blockIdx.x * 8", "first()")
    + LOAD
    + STORE,
    "the number of the block as a whole": START + "    uint3 all = blockIdx;\n" + LOAD + STORE,
    "memory of the launch": START.replace("__shared__", "extern __shared__").replace("[8]", "[]")
    + LOAD
    + STORE,
    "something that each block does": START + LOAD + STORE + "    atomicAdd(c, 1.0f);\n",
    "a parameter that changes": START + "    a += 8 * blockIdx.x;\n" + LOAD + STORE,
    "a variable without a type": START.replace("int i", "auto i") + LOAD + STORE,
    "a macro that hides shared memory": "#define SET(v) (tile[threadIdx.x] = v)\n"
    + START
    + LOAD.replace("tile[threadIdx.x] = a[i]", "SET(a[i])")
    + STORE,
    "a directive": START + "#if 1\n" + LOAD + "#endif\n" + STORE,
    "blocks that wait for each other": START + LOAD + "    __threadfence();\n" + STORE,
    "a barrier in a function": START + LOAD + STORE.replace("tile[", "meet(a[i]) + tile["),
    "a list of values": START
    + "    float two[2] = {1, 2};\n    two[0] = a[i];\n"
    + LOAD
    + STORE.replace("= tile", "= two[0] + tile"),
}
FUNCTIONS = """\
__device__ int first() { return blockIdx.x * 8; }
__device__ float meet(float x) { __syncthreads(); return x; }
"""


def read(body: str, head: str = HEAD) -> Code:
    return read_code(Source("k.cu", f"{head}{body}}}\n"))


def merged(body: str, choice: str = "merge_K2") -> str:
    code = read(body)
    rewrite = Merge().rewrite(code, next(code.kernels).at, choice)
    assert rewrite is not None
    return spliced(code.source, rewrite.splices).text


@pytest.mark.parametrize("name", BEFORE)
def test_before_and_after(name: str) -> None:
    code = read(BEFORE[name].body)
    (site,) = Merge().sites(code)
    along_y = () if BEFORE[name].flat else ("merge_K2y", "merge_K4y", "merge_K8y")
    assert site.choices == ("merge_K2", "merge_K4", "merge_K8", *along_y)
    rewrite = Merge().rewrite(code, site.at, "merge_K2")
    assert rewrite is not None
    assert rewrite.shape == ({} if BEFORE[name].bare else {"k.items.x": 2})
    assert spliced(code.source, rewrite.splices).text == read(AFTER[name]).text


@pytest.mark.parametrize("name", DECLINED)
def test_where_it_is_not_offered(name: str) -> None:
    assert list(Merge().sites(read(DECLINED[name], FUNCTIONS + HEAD))) == []


def test_what_is_declined_is_offered_without_its_reason() -> None:
    assert len(list(Merge().sites(read(START + LOAD + STORE, FUNCTIONS + HEAD)))) == 1


def test_rows_may_be_merged() -> None:
    """In a product of matrices, blocks along y share the tile of the right matrix."""
    text = merged(BEFORE["a product of matrices"].body, "merge_K4y")
    assert "__shared__ float left[4][8][8];" in text
    assert "__shared__ float right[8][8];" in text
    assert "sum[item] += left[item][ty][t] * right[t][tx];" in text


def test_a_member_is_no_variable_of_its_name() -> None:
    """``threadIdx.x`` does not depend on a variable ``x``."""
    body = (START + LOAD + STORE).replace("int i", "int x").replace("[i]", "[x]")
    body = "    int t = threadIdx.x;\n" + body + "    c[x] += t;\n"
    assert "\n    int t = threadIdx.x;\n" in merged(body)


@pytest.mark.parametrize(
    ("guard", "stays"),
    [
        ("i < n", False),
        ("n > i && a != 0", False),
        ("i < n || m > 0", True),
        ("i != n", True),
        ("i > n", True),
        ("m < n", True),
        ("i < i + n", True),
        ("a[i] < n", True),
        ("i % 4 < n", True),
        ("n - i < m", True),
        ("i - n < m", False),
        ("min(i, m) < n", True),
    ],
)
def test_the_grid_stays_without_a_limit_at_each_access(guard: str, stays: bool) -> None:
    load = LOAD.replace("a[i]", f"{guard} ? a[i] : 0")
    code = read(START + load + f"    if ({guard}) {STORE.strip()}\n")
    rewrite = Merge().rewrite(code, next(code.kernels).at, "merge_K2")
    assert rewrite is not None
    assert rewrite.shape == ({} if stays else {"k.items.x": 2})
