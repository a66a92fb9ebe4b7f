"""Loops and warps that add up in registers give the original's answers, on the host back end."""

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

HEAD = """\
struct Pair { int x, y; };
__device__ void add(const int *a, int *own, int m) {
    for (int j = 0; j < m; j++) {
        own[1] += a[j];
        own[1] ^= j;
    }
}
"""
BODIES = {
    "a sum in memory": """\
    if (i < n)
        #pragma unroll 2
        for (int j = 0; j < m; j++)
            b[i] += a[j] * c[i];
""",
    "a sum for each of a row": """\
    if (i >= n) return;
    for (int k = 0; k < 2; k++)
        for (int j = 0; j < m; j++)
            d[i * 2 + k] += a[(j + k) % m];
    while (c[i] > 1) { c[i] /= 2; b[i]++; }
""",
    "loops that end early, and one that counts": """\
    if (i >= n) return;
    if (m > 3) for (int j = 0; j < m; j++) { b[i] = max(b[i], a[j]); if (b[i] > 5) break; } // end
    else do { b[i] += 7; } while (b[i] < i);
""",
    "members of a structure": """\
    Pair *p = (Pair *)d;
    if (i < n)
        for (int j = 0; j < m; j++) {
            p[i].x += a[j] + c[i];
            p[i].y ^= p[i].x;
        }
    if (i == 0)
        for (int j = 1; j < m; j++) b[0] += a[0] * a[1] + a[j];
""",
    "a function": """\
    if (i < n) {
        d[2 * i] = c[i];
        add(a, d + 2 * i, m);
    }
""",
}
ATOMIC = {
    "sums that threads share": """\
    for (int l = i; l < m; l += 3) {
        atomicAdd(b, a[l]);
        if (a[l] & 1) atomicSub(&c[m % 2], l);
    }
    for (int l = 0; l < 2; l++)
        for (int j = 0; j < m; j++) atomicXor(d + l, a[j] + i);
""",
}
AGGREGATE = {
    "sums of all threads": """\
    unsigned long long *sums = (unsigned long long *)d;
    const unsigned long long more = c[i < n ? i : 0];
    atomicAdd(&sums[m % 2], more);
    if (i < n && a[i % (m + 1)] > 0) {
        atomicAdd(sums, 3ull * i);
    }
    for (int j = threadIdx.x; j < m; j += 7)
        atomicAdd(sums + blockIdx.x % 2, (unsigned long long)j);
""",
}
BODIES |= ATOMIC | AGGREGATE
LAUNCHES = (
    (0, 1, 32),
    (1, 0, 96),
    (3, 5, 32),
    (97, 1, 32),
    (191, 7, 96),
    (192, 12, 96),
    (500, 3, 64),
)
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
            np.testing.assert_array_equal(found[array], values, case)


@pytest.mark.parametrize("name", sweep(BODIES, next(iter(BODIES))))
def test_threads_do_not_race(host: Host, name: str) -> None:
    _, changed = texts(name)
    source = f'# 1 "v0/kernel.cu"\n{changed}'
    outcome = host.run(source, arguments(90, 4), (3,), (32,), options=WATCHED)
    assert (outcome.error, outcome.status) == ("", 0)
    assert races(with_lines(outcome.report), Source("kernel.cu", changed)) == []


def texts(name: str) -> tuple[str, str]:
    """A kernel, and the same one with all its loops changed."""
    text = (
        f"{HEAD}__global__ void k(const int *a, int *b, int *c, int *d, int n, int m) {{\n"
        f"    int i = blockIdx.x * blockDim.x + threadIdx.x;\n{BODIES[name]}}}\n"
    )
    grammar = convert(Source("k.cu", text), types=EDIT_SETS["transforms"])
    kinds = {RuleType.ATOMIC: ATOMIC, RuleType.AGGREGATE: AGGREGATE}
    type_ = next((one for one, bodies in kinds.items() if name in bodies), RuleType.SCALAR)
    sites = [rule.name for rule in grammar.rules if rule.type is type_]
    changed = CudaText(grammar).render({one: Expansion((), f"{type_}_K") for one in sites})
    assert changed != text
    return text, changed


def arguments(size: int, rounds: int) -> Mapping[str, np.ndarray | np.generic]:
    draw = np.random.default_rng(size)
    count = max(size, 2)
    return {
        "a": draw.integers(-9, 9, max(rounds, 1) + 1).astype(np.int32),
        "b": draw.integers(-9, 9, count).astype(np.int32),
        "c": draw.integers(0, 99, count).astype(np.int32),
        "d": draw.integers(-9, 9, 2 * count).astype(np.int32),
        "n": np.int32(size),
        "m": np.int32(rounds),
    }


def run(
    host: Host, text: str, data: Mapping[str, np.ndarray | np.generic], grid: int, block: int
) -> Mapping[str, np.ndarray]:
    outcome = host.run(text, data, (grid,), (block,))
    assert (outcome.error, outcome.status) == ("", 0)
    return outcome.outputs
