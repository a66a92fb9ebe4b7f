"""Kernels whose threads have several items give the original's answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from gi_cuda.backends.host.running.races import WATCHED
from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.mapping.jam import Jam
from gi_cuda.grammar.splice import spliced
from gi_cuda.spec.launching.shape import Shape
from tests.integration.backends.conftest import Host
from tests.sweeps import sweep
from tests.unit.grammar.jam_kernels import BEFORE, HEAD

SIZES = [(1, 1), (0, 3), (31, 4), (32, 0), (97, 5), (127, 2), (128, 3), (129, 1), (257, 7)]
"""Items, and iterations of loops."""
BLOCKS = (32, 1, 96)


def inputs(n: int, m: int) -> Mapping[str, np.ndarray | np.generic]:
    """Arrays without an element more than is read."""
    draw = np.random.default_rng(n * 1000 + m)
    a, b, c = (draw.random(size, dtype=np.float32) for size in (n * max(m, 1), max(m, 3), n))
    return {"a": a, "b": b, "c": c, "n": np.int32(n), "m": np.int32(m)}


@pytest.mark.parametrize("name", sweep(BEFORE, next(iter(BEFORE))))
def test_answers_stay_the_same_and_no_threads_race(host: Host, name: str) -> None:
    """Tested with the grid that the work takes, and with the original grid."""
    before = f"{HEAD}{BEFORE[name]}}}\n"
    code = read_code(Source("k.cu", before))
    (site,) = Jam().sites(code)
    for choice in (site.choices[0], site.choices[-1]):
        rewrite = Jam().rewrite(code, site.at, choice)
        assert rewrite is not None
        after = spliced(code.source, rewrite.splices).text
        for at, (n, m) in enumerate(SIZES):
            block = BLOCKS[at % len(BLOCKS)]
            blocks = max(1, -(-n // block))
            expected = host.run(before, inputs(n, m), (blocks,), (block,))
            assert (expected.error, expected.status) == ("", 0)
            fewer, _ = Shape(items=rewrite.shape["k.items.x"]).extents(blocks, block)
            for grid in (blocks, fewer):
                found = host.run(after, inputs(n, m), (grid,), (block,), options=WATCHED)
                assert (found.error, found.status, found.report) == ("", 0, "")
                assert np.array_equal(found.outputs["c"], expected.outputs["c"]), (n, m, grid)
