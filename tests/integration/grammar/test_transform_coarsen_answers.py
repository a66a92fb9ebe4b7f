"""Kernels whose blocks do the work of several give the original's answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from gi_cuda.backends.host.running.races import WATCHED
from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.mapping.coarsen import Coarsen
from gi_cuda.grammar.splice import spliced
from gi_cuda.spec.launching.shape import Shape
from tests.integration.backends.conftest import Host
from tests.sweeps import sweep

HEAD = "__global__ void k(const float *a, float *b, int w, int h) {\n"
X = "    const int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
Y = "    int y = threadIdx.y + blockDim.y * blockIdx.y;\n"

KERNELS = {
    "under an if": HEAD + X + "    if (x < w * h)\n        b[x] = 2 * a[x];\n}",
    "an early return": HEAD + X + "    if (x >= w * h) return;\n    b[x] = a[w * h - 1 - x];\n}",
    "one point more": HEAD + X + "    if (x < w || x == w + 2) b[x] = a[x] + 1;\n}",
    "an interior": HEAD
    + X
    + "    if (1 <= x && x < w * h - 1) {\n        b[x] = a[x - 1] + a[x + 1];\n    }\n}",
    "a sum that starts before": HEAD
    + "    float sum = 1;\n"
    + X
    + "    if (x < h) {\n        for (int j = 0; j < w; j++) sum += a[x * w + j];\n"
    + "        b[x] = sum;\n    }\n}",
    "a loop over the grid": HEAD
    + "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < w * h;"
    + " i += blockDim.x * gridDim.x)\n        b[i] = a[i] - i;\n}",
    "two dimensions": HEAD + X + Y + "    if (x < w && y < h) b[y * w + x] += a[y * w + x];\n}",
    "two, an early return": HEAD
    + X
    + Y
    + "    if (x >= w || y >= h) return;\n    b[y * w + x] = a[(h - 1 - y) * w + x];\n}",
}

SIZES = [(1, 1), (1, 7), (31, 1), (32, 3), (33, 5), (61, 4), (64, 2)]
"""Width and height."""
BLOCKS = [(1, 1), (32, 1), (8, 4), (96, 1)]


def inputs(w: int, h: int) -> Mapping[str, np.ndarray | np.generic]:
    """Small whole numbers; three elements more than there are, which one kernel writes."""
    draw = np.random.default_rng(w * 1000 + h)
    a, b = (draw.integers(0, 8, w * h + 3).astype(np.float32) for _ in range(2))
    return {"a": a, "b": b, "w": np.int32(w), "h": np.int32(h)}


@pytest.mark.parametrize("name", sweep(KERNELS, next(iter(KERNELS))))
def test_answers_stay_the_same_and_no_threads_race(host: Host, name: str) -> None:
    """Tested with the grid that the work takes, and with the original grid."""
    before = KERNELS[name]
    code = read_code(Source("k.cu", before))
    (site,) = Coarsen().sites(code)
    for choice in sorted({site.choices[0], site.choices[-1]}):
        rewrite = Coarsen().rewrite(code, site.at, choice)
        assert rewrite is not None
        after = spliced(code.source, rewrite.splices).text
        ((key, items),) = rewrite.shape.items()
        for (w, h), (bx, by) in zip(SIZES, BLOCKS * 2, strict=False):
            flat = "threadIdx.y" not in before
            blocks = (-(-(w * h + 3) // bx), 1) if flat else (-(-w // bx), -(-h // by))
            threads = (bx, 1 if flat else by)
            expected = host.run(before, inputs(w, h), blocks, threads)
            assert (expected.error, expected.status) == ("", 0)
            fewer = [
                Shape(items=items if key.endswith(axis) else 1).extents(count, size)[0]
                for axis, count, size in zip("xy", blocks, threads, strict=True)
            ]
            for grid in (blocks, tuple(fewer)):
                found = host.run(after, inputs(w, h), grid, threads, options=WATCHED)
                assert (found.error, found.status, found.report) == ("", 0, "")
                assert np.array_equal(found.outputs["b"], expected.outputs["b"]), (w, h, grid)
