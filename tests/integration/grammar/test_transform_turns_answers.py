"""Kernels whose threads take turns give the same answers with smaller blocks."""

from __future__ import annotations

import numpy as np
import pytest

from gi_cuda.backends.host.running.races import WATCHED
from gi_cuda.grammar import EDIT_SETS, Expansion, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.spec.launching.shape import Extent, shaped
from tests.integration.backends.conftest import Host
from tests.sweeps import sweep

HEAD = "__global__ void k(const float *a, float *b, int n) {\n"
ROW = "    a += blockIdx.x * n;\n    b += blockIdx.x * n;\n"

KERNELS = {
    "alone": HEAD
    + ROW
    + "    for (int i = threadIdx.x; i < n; i += blockDim.x) b[i] = 2 * a[i];\n}",
    "a sum by shuffles": HEAD
    + ROW
    + """    __shared__ float part[32];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += a[i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0;
    for (int w = 0; w < blockDim.x / 32; w++) sum += part[w];
    for (int i = threadIdx.x; i < n; i += blockDim.x) b[i] = a[i] + sum;
}""",
    "a sum by halves": HEAD
    + ROW
    + """    __shared__ float part[256];
    const int t = threadIdx.x;
    part[t] = 0;
    for (int i = t; i < n; i += blockDim.x) part[t] += a[i];
    for (int d = blockDim.x / 2; d > 0; d /= 2) {
        __syncthreads();
        if (t < d) part[t] += part[t + d];
    }
    __syncthreads();
    for (int i = t; i < n; i += blockDim.x) b[i] = a[i] + part[0];
}""",
}


@pytest.mark.parametrize("name", sweep(KERNELS, "a sum by halves"))
def test_answers_are_those_of_the_old_block(host: Host, name: str) -> None:
    program = CudaText(convert(Source("k.cu", KERNELS[name]), types=EDIT_SETS["transforms"]))
    grid, block = (3, 1, 1), (256, 1, 1)
    for n in (1, 31, 64, 257, 1000):
        draw = np.random.default_rng(n)
        a = draw.integers(0, 8, 3 * n).astype(np.float32)
        given = {"a": a, "b": np.zeros_like(a), "n": np.int32(n)}
        expected = host.run(KERNELS[name], given, grid, block)
        assert (expected.error, expected.status) == ("", 0)
        for threads in (32, 64, 128):
            made = {"block_k.cu_1": Expansion((), f"block_K{threads}")}
            new: tuple[Extent, Extent] = shaped("k", grid, block, program.shape(made))
            assert new == (grid, (threads, 1, 1))
            found = host.run(program.changed(made).text, given, *new, options=WATCHED)
            assert (found.error, found.status, found.report) == ("", 0, "")
            assert np.array_equal(found.outputs["b"], expected.outputs["b"]), (n, threads)
