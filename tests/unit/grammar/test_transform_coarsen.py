"""Coarsening: the text that it leaves, and where it is not offered."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.mapping.coarsen import Coarsen
from gi_cuda.grammar.splice import spliced
from tests.unit.grammar.coarsen_kernels import CASES

DECLINED = {
    "a barrier": """
__global__ void k(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 0;
    __syncthreads();
}
""",
    "shared memory": """
__global__ void k(float *a, int n) {
    __shared__ float s[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = s[0];
}
""",
    "a warp operation": """
__global__ void k(int *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = __shfl_sync(~0u, a[i], 0);
}
""",
    "geometry in a function that is called": """
__device__ int at() { return blockIdx.x * blockDim.x + threadIdx.x; }
__global__ void k(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[at()] = 0;
}
""",
    "geometry in a macro": """
#define AT blockIdx.x
__global__ void k(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = AT;
}
""",
    "a return within a loop": """
__global__ void k(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    for (int j = 0; j < n; j++) if (a[j] > 0) return;
    a[i] = 0;
}
""",
    "code that depends on macros": """
__global__ void k(float *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef ALL
    if (i < n)
#endif
    a[i] = 0;
}
""",
    "a block size that is written out": """
__global__ void k(float *a, int n) {
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) a[i] = 0;
}
""",
}


def coarsened(text: str, choice: str) -> str:
    """A kernel with the first site's work coarsened."""
    code = read_code(Source("k.cu", text))
    site, *_ = Coarsen().sites(code)
    rewrite = Coarsen().rewrite(code, site.at, choice)
    assert rewrite is not None
    return spliced(code.source, rewrite.splices).text


@pytest.mark.parametrize("name", CASES)
def test_before_and_after(name: str) -> None:
    choice, before, after = CASES[name]
    assert coarsened(before, choice) == after


@pytest.mark.parametrize("name", DECLINED)
def test_where_it_is_not_offered(name: str) -> None:
    assert list(Coarsen().sites(read_code(Source("k.cu", DECLINED[name])))) == []


def test_the_grid_shrinks_along_the_axis() -> None:
    _, before, _ = CASES["two dimensions, along y"]
    code = read_code(Source("k.cu", before))
    (site,) = Coarsen().sites(code)
    shapes = {one: Coarsen().rewrite(code, site.at, one) for one in ("coarsen_K8", "coarsen_K4y")}
    found = {name: one.shape for name, one in shapes.items() if one}
    assert found == {"coarsen_K8": {"k.items.x": 8}, "coarsen_K4y": {"k.items.y": 4}}
