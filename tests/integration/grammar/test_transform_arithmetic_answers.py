"""Kernels with reciprocals, powers and float literals give the answers of the original."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from gi_cuda.backends.host.running.races import WATCHED, with_lines
from gi_cuda.evaluate.scrutiny.ordering.sanitizer_logs import races
from gi_cuda.grammar import EDIT_SETS, Expansion, RuleType, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from tests.integration.backends.conftest import Host
from tests.sweeps import sweep

FAMILIES = {
    RuleType.RECIP: "recip_K",
    RuleType.POWER: "power_K",
    RuleType.SINGLE: "single_K",
}
HEAD = """\
__device__ float slope(float left, float right, float dx) { return (right - left) / (2 * dx); }
"""
BODIES = {
    "sums, rows and literals": """\
    if (i >= n) return;
    float sum = 1;
    for (int j = 0; j < m; j++) sum += a[j] * a[j];
    #pragma unroll 2
    for (int j = 0; j < m; j++) d[i * m + j] = b[i] / sum + a[j] / 3;
    b[i] /= 7.0f;
""",
    "branches and powers": """\
    float h = 2.5f + i, peak;
    if (i < n)
        if ((peak = powf(b[i], 2.0f) + 1) > 2)
            for (int j = 0; j < m; j++) d[i * m + j] += a[j] / peak;
        else { c[i] = powf(c[i], 3) / h; c[i] -= 1 / h; }
""",
    "tiles that threads share": """\
    __shared__ float tile[96];
    __shared__ float scale;
    for (int j = 0; j < m; j++) {
        if (threadIdx.x == 0) scale = 2 + a[j] * a[j];
        tile[threadIdx.x] = i < n ? c[i] : 1;
        __syncthreads();
        if (i < n) c[i] += tile[blockDim.x - 1 - threadIdx.x] / scale + a[0] / scale;
        __syncthreads();
    }
""",
    "a function and elements": """\
    for (; i < n; i += blockDim.x * gridDim.x) {
        c[i] = slope(c[i], b[i], 3 + c[i] * c[i]);
        for (int j = 0; j < m; j++) d[i * m + j] /= fabsf(b[i]) + 1;
        c[i] += pow(c[i] * c[i], 1.5) / m + powf(1 + c[i] * c[i], -2);
        c[i] += b[i] / sqrtf(1 + c[i] * c[i]) - 1.0f / powf(1 + b[i] * b[i], 0.3f * c[i]);
        c[i] /= expf(0.1f * b[i]);
    }
""",
    "double literals": """\
    for (; i < n; i += blockDim.x * gridDim.x) {
        const float h = 0.25 * (b[i] + 1.0 / (m + 1)) - 1e-3;
        c[i] = h > 0.1 ? sin(0.5 * h) : 2.0 * std::exp(h);
        for (int j = 0; j < m; j++) d[i * m + j] += 0.5 * a[j] * pow(1.5 + h * h, 0.5);
        if (b[i] < 1.5) c[i] *= 2.0;
    }
""",
}
LAUNCHES = ((0, 1, 32), (1, 0, 96), (3, 5, 32), (97, 1, 32), (191, 7, 96), (193, 12, 96))
"""Items, iterations, and threads of a block."""


@pytest.mark.parametrize("name", sweep(BODIES, next(iter(BODIES))))
def test_answers_are_those_of_the_original(host: Host, name: str) -> None:
    text, changed = texts(name)
    for size, rounds, block in LAUNCHES:
        data = arguments(size, rounds)
        grid = max(1, -(-size // block))
        original = run(host, text, data, grid, block)
        found = run(host, changed, data, grid, block)
        for array, values in original.items():
            case = f"{array}: {size} items, {rounds} iterations, {grid} blocks of {block} threads"
            np.testing.assert_allclose(found[array], values, rtol=2e-5, atol=1e-5, err_msg=case)


@pytest.mark.parametrize("name", sweep(BODIES, "tiles that threads share"))
def test_threads_do_not_race(host: Host, name: str) -> None:
    _, changed = texts(name)
    source = f'# 1 "v0/kernel.cu"\n{changed}'
    outcome = host.run(source, arguments(90, 4), (3,), (32,), options=WATCHED)
    assert (outcome.error, outcome.status) == ("", 0)
    assert races(with_lines(outcome.report), Source("kernel.cu", changed)) == []


def texts(name: str) -> tuple[str, str]:
    """A kernel, and the same one with all its sites changed."""
    text = (
        f"{HEAD}__global__ void k(const float *a, float *b, float *c, float *d, int n, int m) {{\n"
        f"    int i = blockIdx.x * blockDim.x + threadIdx.x;\n{BODIES[name]}}}\n"
    )
    grammar = convert(Source("k.cu", text), types=EDIT_SETS["transforms"])
    sites = {
        rule.name: Expansion((), FAMILIES[rule.type])
        for rule in grammar.rules
        if rule.type in FAMILIES
    }
    changed = CudaText(grammar).render(sites)
    assert changed != text
    return text, changed


def arguments(size: int, rounds: int) -> Mapping[str, np.ndarray | np.generic]:
    draw = np.random.default_rng(size)
    count = max(size, 1)
    return {
        "a": draw.normal(size=max(rounds, 1)).astype(np.float32),
        "b": draw.normal(size=count).astype(np.float32),
        "c": draw.normal(size=count).astype(np.float32),
        "d": draw.normal(size=count * max(rounds, 1)).astype(np.float32),
        "n": np.int32(size),
        "m": np.int32(rounds),
    }


def run(
    host: Host, text: str, data: Mapping[str, np.ndarray | np.generic], grid: int, block: int
) -> Mapping[str, np.ndarray]:
    outcome = host.run(text, data, (grid,), (block,))
    assert (outcome.error, outcome.status) == ("", 0)
    return outcome.outputs
