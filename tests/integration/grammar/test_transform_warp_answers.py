"""Kernels whose rows get lanes give the original's answers, without races."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from gi_cuda.backends.host.running.races import WATCHED
from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.mapping.warp import Warp
from gi_cuda.grammar.splice import spliced
from gi_cuda.spec.launching.shape import Shape
from tests.sweeps import sweep

HEAD = "__global__ void k(const float *a, const int *c, float *b, int *d, int rows, int n) {\n"
ROW = HEAD + "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= rows) return;\n"

KERNELS = {
    "sums and extremes": ROW
    + """
    float sum = b[i], top = a[0], low = a[0];
    int bits = 5, most = c[0];
    for (int j = 0; j < n; j++) {
        sum += a[i * n + j];
        top = fmaxf(top, a[i * n + j]);
        low = a[i * n + j] < low ? a[i * n + j] : low;
        bits ^= c[j] + i;
        if (c[j] > most) most = c[j];
    }
    b[i] = sum;
    d[i] = (int)top - (int)low + bits + most;
}""",
    "products, counters, odd steps, iterations left out": ROW
    + """
    int product = 1, odd = 0, all = 0, j;
    for (j = i % 3; j <= n - 1; j += 2) {
        if (c[j] % 5 == 0) continue;
        product *= c[j] | 1;
        if (c[j] & 1) odd++; else odd--;
        for (int l = 0; l < j; l++) all = c[l] + all;
    }
    d[i] += product + odd * 3 + all;
}""",
    "members and arrays": ROW
    + """
    float3 force = make_float3(1, 2, 3);
    long long sums[4] = {7};
    for (unsigned j = 0; j < n; ++j) {
        force.x += a[j] - a[i];
        force.y = fmaf(a[j], 2.f, force.y);
        sums[c[j] & 3] += c[j];
    }
    b[i] = force.x + 2 * force.y + force.z;
    for (int l = 0; l < 4; l++) d[i * 4 + l] = sums[l];
}""",
    "iterations that write what other ones read later": ROW
    + """
    float *row = b + i * n;
    for (int t = 0; t < 3; t++) {
        for (int j = 0; j < n; j++) row[j] += a[i * n + j] + t;
        float sum = 0;
        for (int j = 0; j < n; j++) sum += row[n - 1 - j] * c[j];
        if (n > 0) row[t % n] = (int)sum % 9;
        for (int j = 0; j < n / 2; j++) {
            float kept = row[j];
            row[j] = row[n - 1 - j];
            row[n - 1 - j] = kept;
        }
    }
}""",
    "memory that decides, and is then written": ROW
    + """
    if (d[i] % 2) {
        d[i] = 0;
        for (int j = 0; j < n; j++) b[i * n + j] = c[j];
        d[i + rows] = d[i] + 1;
        d[i]++;
    } else
        d[i] += 3;
}""",
    "atomic operations": ROW
    + """
    int sum = 0;
    for (int j = 0; j < n; j++) {
        atomicAdd(&b[c[j] % 4], 1.f);
        sum += c[j];
    }
    atomicAdd(&d[0], sum);
    if (sum & 1) atomicMax(&d[1], sum); else if (sum > 3) atomicAdd(&d[2], i);
}""",
    "loops that stay": ROW
    + """
    int x = i, found = -1;
    for (int t = 0; t < 5; t++) {
        int sum = 0;
        for (int j = 0; j < n; j++) sum += c[j] * x;
        x = (x * 3 + sum) % 1000;
        d[i * 4 + t % 4] = x;
    }
    for (int j = 0; j < n; j++) if (c[j] == 6) { found = j; break; }
    b[i] = x + found;
}""",
    "loops over rows": HEAD
    + """
    int stride = gridDim.x * blockDim.x;
    for (int i = threadIdx.x + blockIdx.x * blockDim.x; i < rows; i += stride) {
        float sum = 0;
        for (const float *p = a + i * n; p < a + (i + 1) * n; p++) sum += *p;
        if (sum > 40) continue;
        b[i] = sum;
    }
}""",
}

SIZES = [(1, 0, 32), (1, 1, 64), (2, 7, 32), (7, 33, 64), (31, 13, 96), (33, 8, 32), (32, 65, 128)]
"""Rows, iterations, and threads of a block."""


CHOICES = {"warp_K4": 4, "warp_K32": 32, "warp_K8i": 8}
"""Choice -> lanes of a row: side by side, a whole warp, and with neighbouring rows between."""


def with_lanes(text: str, choice: str) -> str:
    """The kernel with lanes for each row."""
    code = read_code(Source("k.cu", text))
    (site,) = Warp().sites(code)
    rewrite = Warp().rewrite(code, site.at, choice)
    assert rewrite is not None
    assert rewrite.shape == {"k.times.x": CHOICES[choice]}
    return spliced(code.source, rewrite.splices).text


def inputs(rows: int, n: int) -> Mapping[str, np.ndarray | np.generic]:
    """Small whole numbers, so that sums are exact in any order."""
    draw = np.random.default_rng(rows * 1000 + n)
    return {
        "a": draw.integers(0, 8, rows * n + rows + n).astype(np.float32),
        "c": draw.integers(0, 8, n + 1).astype(np.int32),
        "b": draw.integers(0, 8, rows * n + rows + 4).astype(np.float32),
        "d": draw.integers(0, 8, 4 * rows + 4).astype(np.int32),
        "rows": np.int32(rows),
        "n": np.int32(n),
    }


@pytest.mark.parametrize("name", sweep(KERNELS, next(iter(KERNELS))))
def test_answers_stay_the_same_without_races(host, name) -> None:
    """At every size of the data and of a block."""
    before = KERNELS[name]
    after = {choice: with_lanes(before, choice) for choice in CHOICES}
    for rows, n, block in SIZES:
        arguments, grid = inputs(rows, n), -(-rows // block)
        expected = host.run(before, arguments, (grid,), (block,))
        assert (expected.error, expected.status) == ("", 0)
        for choice, text in after.items():
            blocks, threads = Shape(times=CHOICES[choice]).extents(grid, block)
            found = host.run(text, arguments, (blocks,), (threads,), options=WATCHED)
            assert (found.error, found.status, found.report) == ("", 0, "")
            for buffer, values in expected.outputs.items():
                assert np.array_equal(found.outputs[buffer], values), (buffer, rows, n, choice)


@pytest.mark.parametrize("choice", sweep(["warp_K8i", "warp_K4"], "warp_K8i"))
def test_grid_stride_loop_covers_each_row_once(host, choice) -> None:
    """A grid of one block goes over its rows several times."""
    before = KERNELS["loops over rows"]
    arguments = inputs(50, 9)
    expected = host.run(before, arguments, (2,), (32,))
    found = host.run(with_lanes(before, choice), arguments, (2,), (64,), options=WATCHED)
    assert (found.error, found.status, found.report) == ("", 0, "")
    assert np.array_equal(found.outputs["b"], expected.outputs["b"])
