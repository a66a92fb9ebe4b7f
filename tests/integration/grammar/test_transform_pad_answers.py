"""Kernels with padded shared arrays give the answers of the original, on the host back end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from gi_cuda.backends.host.running.races import WATCHED, with_lines
from gi_cuda.evaluate.scrutiny.ordering.sanitizer_logs import races
from gi_cuda.grammar import Expansion, RuleType, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from tests.integration.backends.conftest import Host
from tests.sweeps import sweep

HEAD = """\
#define T 16
constexpr int WIDE = T * 2;
__global__ void k(const int *a, int *b, int n, int m) {
    int x = threadIdx.x, y = threadIdx.y;
    int i = blockIdx.x * T + x, j = blockIdx.y * T + y;
"""
BODIES = {
    "a transpose": """\
    __shared__ int tile[T][T];
    if (i < n && j < m) tile[y][x] = a[j * n + i];
    __syncthreads();
    int r = blockIdx.y * T + x, c = blockIdx.x * T + y;
    if (r < m && c < n) b[c * m + r] = tile[x][y];
""",
    "a halo and two arrays": """\
    __shared__ int tile[T][WIDE], other[2][T];
    for (int s = x; s < WIDE; s += T) {
        int column = (int)blockIdx.x * T + s - 8;
        tile[y][s] = column >= 0 && column < n && j < m ? a[j * n + column] : 0;
    }
    if (y < 2) other[y][x] = x * 3 + y;
    __syncthreads();
    if (i < n && j < m) b[j * n + i] = tile[y][x] + tile[y][x + 15] * other[1][x] - other[0][y];
""",
    "sums of three dimensions": """\
    __shared__ int sums[2][T][T];
    sums[0][y][x] = i < n && j < m ? a[j * n + i] : 1;
    sums[1][y][x] = 0;
    __syncthreads();
    for (int s = 0; s < T; s++) sums[1][x][y] += sums[0][s][y] * (s + 1);
    __syncthreads();
    if (i < n && j < m) b[j * n + i] = sums[1][y][x];
""",
}
SIZES = (0, 1, 3, 15, 16, 17, 31, 32, 33, 37, 48, 53)
"""Columns of a matrix; rows are drawn of the same sizes."""


@pytest.mark.parametrize("name", sweep(BODIES, "a transpose"))
def test_answers_are_those_of_the_original(host: Host, name: str) -> None:
    text, changed = texts(name)
    draw = np.random.default_rng(len(name))
    for columns in SIZES:
        rows = int(draw.choice(SIZES))
        data = arguments(columns, rows)
        original, found = (run(host, one, data, columns, rows) for one in (text, changed))
        np.testing.assert_array_equal(found["b"], original["b"], f"{rows} x {columns}")


@pytest.mark.parametrize("name", sweep(BODIES, "a transpose"))
def test_threads_do_not_race(host: Host, name: str) -> None:
    _, changed = texts(name)
    source = f'# 1 "v0/kernel.cu"\n{changed}'
    outcome = host.run(source, arguments(37, 17), (3, 2), (16, 16), options=WATCHED)
    assert (outcome.error, outcome.status) == ("", 0)
    assert races(with_lines(outcome.report), Source("kernel.cu", changed)) == []


def texts(name: str) -> tuple[str, str]:
    """A kernel, and the same one with all its arrays padded."""
    text = f"{HEAD}{BODIES[name]}}}\n"
    grammar = convert(Source("k.cu", text), types=frozenset({RuleType.PAD}))
    changed = CudaText(grammar).render({r.name: Expansion((), "pad_K") for r in grammar.rules})
    assert changed.count("+ 1];") + changed.count("+ 1], ") == len(grammar.rules) > 0
    return text, changed


def arguments(columns: int, rows: int) -> Mapping[str, np.ndarray | np.generic]:
    draw = np.random.default_rng([columns, rows])
    count = max(columns * rows, 1)
    return {
        "a": draw.integers(-99, 99, count).astype(np.int32),
        "b": draw.integers(-99, 99, count).astype(np.int32),
        "n": np.int32(columns),
        "m": np.int32(rows),
    }


def run(
    host: Host, text: str, data: Mapping[str, np.ndarray | np.generic], columns: int, rows: int
) -> Mapping[str, np.ndarray]:
    grid = (max(1, -(-columns // 16)), max(1, -(-rows // 16)))
    outcome = host.run(text, data, grid, (16, 16))
    assert (outcome.error, outcome.status) == ("", 0)
    return outcome.outputs
