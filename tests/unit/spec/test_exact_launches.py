"""Plans of launches that must have exactly the work of the old blocks."""

from __future__ import annotations

import pytest

from gi_cuda.spec import LaunchError, defaults, load_case, load_target, plan

from .conftest import Write


def smooth(write: Write, block: int, **shape: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the grid and block of the kernel, which has 1000 items for blocks of so many."""
    target = load_target(write())
    values = {f"smooth.{field}.x": value for field, value in shape.items()}
    configuration = {**defaults(target), "BLOCK_W": block, **values}
    first, *_ = plan(target, configuration, load_case(target, target.cases[0]).scalars)
    return first.grid, first.block


def test_old_blocks_are_divided(write: Write) -> None:
    assert smooth(write, 96) == ((11, 1, 1), (96, 1, 1))
    assert smooth(write, 96, threads=32) == ((33, 1, 1), (32, 1, 1))
    assert smooth(write, 128, threads=32) == ((32, 1, 1), (32, 1, 1))
    assert smooth(write, 96, threads=32, exact=1) == ((33, 1, 1), (32, 1, 1))
    assert smooth(write, 96, items=4, exact=1) == ((11, 1, 1), (24, 1, 1))


@pytest.mark.parametrize(
    ("block", "shape", "message"),
    [
        (96, {"threads": 64}, "96 threads cannot be that of whole blocks of 64 threads with 1 "),
        (64, {"threads": 128}, "64 threads cannot be that of whole blocks of 128 threads"),
        (32, {"items": 64}, "32 threads cannot be that of whole blocks of 1 threads with 64 items"),
    ],
)
def test_a_launch_that_does_not_come_out_is_refused(
    write: Write, block: int, shape: dict[str, int], message: str
) -> None:
    with pytest.raises(LaunchError, match=f"smooth: the work of {message}") as caught:
        smooth(write, block, exact=1, **shape)
    assert "from `BLOCK_W` with BLOCK_W =" in str(caught.value)
