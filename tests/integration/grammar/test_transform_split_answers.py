"""Kernels whose blocks share a loop give the original's answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from gi_cuda.backends.host.running.races import WATCHED
from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.mapping.split import Split
from gi_cuda.grammar.splice import spliced
from gi_cuda.spec.launching.shape import Shape
from tests.sweeps import sweep

HEAD = "__global__ void k(const float *a, const int *c, float *b, int *d, int rows, int n) {\n"
ROW = HEAD + "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= rows) return;\n"

KERNELS = {
    "one write": ROW
    + """
    for (int j = 0; j < n; j++) b[j * rows + i] = 2 * a[j * rows + i] + b[j * rows + i];
}""",
    "a start and a step": ROW
    + """
    int step = c[0] + 1;
    for (long j = i % 3 - 1; j <= n - 1; j = j + step)
        if (j >= 0) b[i * n + j] += j;
}""",
    "variables that are declared outside": ROW
    + """
    int j, t;
    float sum;
    for (j = 0; n > j; ++j) {
        sum = 0;
        for (t = -2; t <= 2; t++) if (j + t >= 0 && j + t < n) sum += a[i * n + j + t];
        if (c[j] == 3) continue;
        b[i * n + j] = sum;
    }
}""",
    "elements that are exchanged": ROW
    + """
    for (int j = 0; j < n / 2; j++) {
        float kept = b[j * rows + i];
        b[j * rows + i] = b[(n - 1 - j) * rows + i];
        b[(n - 1 - j) * rows + i] = kept;
    }
}""",
    "sums before, and atomic operations": ROW
    + """
    int sum = 0;
    for (int j = 0; j < n; j++) sum += c[j];
    for (unsigned j = 0; j < n; j++) atomicAdd(&d[c[j] % 4], sum);
}""",
    "loops over rows, a pointer that counts": HEAD
    + """
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < rows; i += gridDim.x * blockDim.x)
        for (float *p = b + i * n; p < b + i * n + n; p += 2) *p += a[i];
}""",
}

SIZES = [(1, 0, 32), (1, 1, 1), (2, 7, 5), (7, 33, 3), (31, 13, 96), (33, 8, 32), (64, 31, 16)]
"""Rows, iterations, and threads of a block."""


def with_blocks(text: str) -> str:
    """The kernel with a loop that blocks along y share, as many as there are."""
    code = read_code(Source("k.cu", text))
    (site,) = Split().sites(code)
    rewrite = Split().rewrite(code, site.at, "split_K8")
    assert rewrite is not None
    assert rewrite.shape == {"k.times.y": 8}
    return spliced(code.source, rewrite.splices).text


def inputs(rows: int, n: int) -> Mapping[str, np.ndarray | np.generic]:
    """Small whole numbers, so that sums are exact in any order."""
    draw = np.random.default_rng(rows * 1000 + n)
    return {
        "a": draw.integers(0, 8, rows * n + rows).astype(np.float32),
        "c": draw.integers(0, 8, n + 1).astype(np.int32),
        "b": draw.integers(0, 8, rows * n + 1).astype(np.float32),
        "d": draw.integers(0, 8, 4).astype(np.int32),
        "rows": np.int32(rows),
        "n": np.int32(n),
    }


@pytest.mark.parametrize("name", sweep(KERNELS, next(iter(KERNELS))))
def test_answers_stay_the_same_without_races(host, name) -> None:
    """At every size of the data, of a block and of the grid: also with the grid as it was."""
    before = KERNELS[name]
    after = with_blocks(before)
    for rows, n, block in SIZES:
        arguments, grid = inputs(rows, n), -(-rows // block)
        expected = host.run(before, arguments, (grid,), (block,))
        assert (expected.error, expected.status) == ("", 0)
        for times in (1, 2, 8):
            blocks, threads = Shape(times=times).extents(1, 1)
            found = host.run(after, arguments, (grid, blocks), (block, threads), options=WATCHED)
            assert (found.error, found.status, found.report) == ("", 0, "")
            for buffer, values in expected.outputs.items():
                assert np.array_equal(found.outputs[buffer], values), (buffer, rows, n, times)
