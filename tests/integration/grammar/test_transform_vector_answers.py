"""Vector accesses give the answers of the original kernel, on the host back end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from gi_cuda.backends.host.running.races import WATCHED, with_lines
from gi_cuda.evaluate.scrutiny.ordering.sanitizer_logs import races
from gi_cuda.grammar import EDIT_SETS, Expansion, RuleType, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.spec.launching.shape import Shape
from tests.integration.backends.conftest import Host
from tests.sweeps import sweep

HEAD = (
    "__global__ void k(const float *a, const unsigned char *m, const int *to,"
    " float *b, float *c, int n) {\n"
)
INDEX = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
BODIES = {
    "a guard": INDEX + "    if (i < n) b[i] = 2 * a[i] + b[i];\n",
    "an early return, and others": INDEX
    + """\
    if (i >= n) return;
    float x = a[i];
    if (x > 4) b[i] = i;
    if (m[i] == 1) return;
    c[i] = x * b[i];
""",
    "a gather under two conditions": """\
    const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && m[i] != 0) {
        c[i] = a[to[i]] - m[i];
    }
""",
    "a loop with a stride": """\
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        c[i] = to[i];
        if (m[i] == 2) continue;
        for (int t = 0; t < m[i]; t++) {
            b[i] += a[i];
        }
    }
""",
}
LAUNCHES = ((0, 32), (1, 96), (3, 32), (97, 32), (191, 96), (192, 96), (193, 96), (1000, 64))
"""Items, and threads of a block."""


@pytest.mark.parametrize("name", sweep(BODIES, next(iter(BODIES))))
def test_answers_are_those_of_the_original(host: Host, name: str) -> None:
    text = f"{HEAD}{BODIES[name]}}}\n"
    variants = list(vectors(text))
    # Where no array is aligned, items are handled one by one.
    choice, changed, shape = variants[-1]
    variants.append((f"{choice}, not aligned", changed.replace(" == 0) {", " == 1) {"), shape))
    for size, block in LAUNCHES:
        data = arguments(size)
        grid = max(1, -(-size // block))
        original = run(host, text, data, grid, block)
        for choice, changed, shape in variants:
            fewer, threads = shape.extents(grid, block)
            assert threads == block
            for blocks in {fewer, grid}:
                case = f"{choice}: {size} items, {blocks} blocks of {block} threads"
                same(run(host, changed, data, blocks, block), original, case)


@pytest.mark.parametrize("name", sweep(BODIES, next(iter(BODIES))))
def test_threads_do_not_race(host: Host, name: str) -> None:
    text = f"{HEAD}{BODIES[name]}}}\n"
    choice, changed, shape = list(vectors(text))[-1]
    grid, block = shape.extents(5, 32)
    source = f'# 1 "v0/kernel.cu"\n{changed}'
    outcome = host.run(source, arguments(150), (grid,), (block,), options=WATCHED)
    assert (outcome.error, outcome.status) == ("", 0)
    assert races(with_lines(outcome.report), Source("kernel.cu", changed)) == [], choice


def vectors(text: str) -> Iterator[tuple[str, str, Shape]]:
    """The kernel with each of its choices, and how its launch changes."""
    grammar = convert(Source("k.cu", text), types=EDIT_SETS["transforms"])
    (site,) = (rule for rule in grammar.rules if rule.type is RuleType.VECTOR)
    for choice in site.choices:
        edits = {site.name: Expansion((), choice)}
        shape = Shape.of("k", "x", CudaText(grammar).shape(edits))
        assert shape.items == int(choice.rpartition("K")[2])
        yield choice, CudaText(grammar).render(edits), shape


def arguments(size: int) -> Mapping[str, np.ndarray | np.generic]:
    """Arrays of the size, with which all branches are taken."""
    draw = np.random.default_rng(size)
    count = max(size, 1)
    return {
        "a": draw.uniform(0, 8, count).astype(np.float32),
        "m": draw.integers(0, 3, count).astype(np.uint8),
        "to": draw.permutation(count).astype(np.int32),
        "b": draw.uniform(-1, 1, count).astype(np.float32),
        "c": np.zeros(count, np.float32),
        "n": np.int32(size),
    }


def run(
    host: Host, text: str, data: Mapping[str, np.ndarray | np.generic], grid: int, block: int
) -> Mapping[str, np.ndarray]:
    outcome = host.run(text, data, (grid,), (block,))
    assert (outcome.error, outcome.status) == ("", 0)
    return outcome.outputs


def same(found: Mapping[str, np.ndarray], wanted: Mapping[str, np.ndarray], case: str) -> None:
    for name, values in wanted.items():
        np.testing.assert_array_equal(found[name], values, f"{name}, {case}")
