"""Launch configurations guessed from a kernel's text."""

from __future__ import annotations

import pytest

from gi_cuda.init.proposing.geometry import blocks_wait


@pytest.mark.parametrize(
    ("text", "waits"),
    [
        ("cg::grid_group g = cg::this_grid(); g.sync();", True),
        ("auto all = cooperative_groups::this_grid();\n all . sync();", True),
        ("cooperative_groups::this_grid().sync();", True),
        ("void meet(cg::grid_group &grid) { cg::sync(grid); }", True),
        ("cg::grid_group g = cg::this_grid(); auto t = g.barrier_arrive();", True),
        ("cg::grid_group grid = cg::this_grid(); i += grid.size(); block.sync();", False),
        ("auto block = cg::this_thread_block(); cg::sync(block);", False),
        ("grid[i].sync = 1; out[i] = grid.x;", False),
    ],
)
def test_whether_blocks_wait_for_each_other(text: str, waits: bool) -> None:
    assert blocks_wait(["int f() { return 1; }", f"__global__ void k() {{ {text} }}"]) is waits
