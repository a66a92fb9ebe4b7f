"""Numbers of blocks that are constants in host code."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import SourceLine
from gi_cuda.init.host.blocks import in_items
from gi_cuda.init.host.launching import LaunchSite

PLAIN = "a[blockIdx.x * blockDim.x + threadIdx.x] = 1;"


@pytest.mark.parametrize(
    ("grid", "block", "values", "body", "expected"),
    [
        # Each thread has 8 items, or one.
        (("4096",), ("512",), {"n": 4096 * 4096}, PLAIN, ("n / 4096",)),
        (("16 * 4",), ("256",), {"n": 64 * 256}, PLAIN, ("n / 256",)),
        # Three of four threads have nothing to do.
        (("64",), ("256",), {"n": 16 * 256}, PLAIN, ("n / 64",)),
        # The last block is not full.
        (("4",), ("256",), {"n": 1000}, PLAIN, ("(n + 256 - 1) / 256",)),
        # A block for each row; how long they are is no matter.
        (("100",), ("1",), {"rows": 100, "n": 512}, PLAIN, ("rows",)),
        (("8", "4"), ("16", "16"), {"w": 128, "h": 64}, PLAIN, ("w / 16", "h / 16")),
        (("8", "7"), ("16", "16"), {"w": 128}, PLAIN, ("w / 16", "7")),
        # Threads go on with further items.
        (("64",), ("256",), {"n": 64 * 256}, "i += gridDim.x;", ("64",)),
        (("64",), ("256",), {"n": 1 << 24}, PLAIN, ("64",)),
        # Two sizes come to the same.
        (("64",), ("256",), {"n": 64 * 256, "m": 64 * 256}, PLAIN, ("64",)),
        (("1",), ("256",), {"n": 256}, PLAIN, ("1",)),
        (("(n + 7) / 8",), ("8",), {"n": 256}, PLAIN, ("(n + 7) / 8",)),
        (("64",), ("256",), {"n": 0.5}, PLAIN, ("64",)),
    ],
)
def test_blocks_by_how_much_data_there_is(
    grid: tuple[str, ...],
    block: tuple[str, ...],
    values: dict[str, int | float],
    body: str,
    expected: tuple[str, ...],
) -> None:
    site = LaunchSite(SourceLine("k.cu", 1), grid, block, "0", values=values)
    told = in_items(site, [*values, "other"], [body])
    assert told.grid == expected
    assert bool(told.note) == (expected != grid)
