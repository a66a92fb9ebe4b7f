"""Kernels whose blocks are merged give the original's answers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from gi_cuda.backends.host.running.races import WATCHED
from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.frontends.cuda.transforms.mapping.merge import Merge
from gi_cuda.grammar.splice import spliced
from gi_cuda.spec.launching.shape import shaped
from tests.integration.backends.conftest import Host
from tests.sweeps import sweep
from tests.unit.grammar.merge_kernels import BEFORE, HEAD, TILE

SIZES = [(1, 1), (0, 3), (7, 4), (8, 1), (9, 9), (13, 17), (16, 8), (31, 33), (64, 5), (67, 2)]
"""Columns and rows: none, one, odd, prime, and around multiples of a block and of several."""


def inputs(n: int, m: int) -> Mapping[str, np.ndarray | np.generic]:
    """Arrays of ``n * m`` elements, and of a tile more each way."""
    draw = np.random.default_rng(n * 1000 + m)
    a, b, c = (draw.random((n + TILE) * (m + TILE), dtype=np.float32) for _ in range(3))
    return {"a": a, "b": b, "c": c, "n": np.int32(n), "m": np.int32(m)}


def kinds(report: str) -> set[str]:
    """Return the kinds of findings: a barrier that some threads do not reach, or a race."""
    return {line.partition("\t")[0] for line in report.splitlines()}


@pytest.mark.parametrize("name", sweep(BEFORE, next(iter(BEFORE))))
def test_answers_stay_the_same_and_no_threads_race(host: Host, name: str) -> None:
    """Tested with the grid that the work takes, and with the original grid."""
    kernel = BEFORE[name]
    before = f"{HEAD}{kernel.body}}}\n"
    block = (TILE, 1 if kernel.flat else TILE, 1)
    code = read_code(Source("k.cu", before))
    (site,) = Merge().sites(code)
    for choice in (site.choices[0], site.choices[-1]):
        rewrite = Merge().rewrite(code, site.at, choice)
        assert rewrite is not None
        after = spliced(code.source, rewrite.splices).text
        for n, m in SIZES:
            grid = kernel.grid(n, m)
            fewer, threads = shaped("k", grid, block, rewrite.shape)
            assert threads == block
            expected = host.run(before, inputs(n, m), grid, block, options=WATCHED)
            assert (expected.error, expected.status) == ("", 0)
            for blocks in {fewer, grid}:
                found = host.run(after, inputs(n, m), blocks, block, options=WATCHED)
                assert (found.error, found.status) == ("", 0)
                assert kinds(found.report) <= kinds(expected.report)
                assert np.array_equal(found.outputs["c"], expected.outputs["c"]), (n, m, choice)
