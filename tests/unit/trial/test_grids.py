"""Grids of plain numbers: fewer blocks on the host, and buffers that follow them."""

from __future__ import annotations

import pytest

from gi_cuda.init import Proposal
from gi_cuda.trial.mending.grids import fewer_blocks, following
from tests.unit.trial.proposals import (
    A,
    B,
    Changes,
    N,
    buffer,
    changes,
    proposal,
    scalar,
    size,
)

FOLLOWING: dict[str, tuple[Proposal, Changes]] = {
    "an element for each thread": (
        proposal(buffer("a", elements="8388608"), grid=("16384",), block=("512",)),
        {
            "a.elements": "blocks * 512",
            "a.whole": "8388608",
            "blocks": (16384, 16384, 16384),
            "grid": ("blocks",),
        },
    ),
    "an element for each block beside a table for all": (
        proposal(
            buffer("a", elements=str(2 * 65536 * 64)),
            buffer("b", "output", elements="65536"),
            buffer("table", elements="64"),
            grid=("65536",),
            block=("64",),
        ),
        {
            "a.elements": "blocks * 128",
            "a.whole": str(2 * 65536 * 64),
            "b.elements": "blocks",
            "b.whole": "65536",
            "blocks": (65536, 65536, 65536),
            "grid": ("blocks",),
        },
    ),
    "a size that only buffers follow": (
        proposal(
            *(size("n", 65536, 65536, 65536, passed=False), buffer("a"), buffer("b", "output")),
            grid=("512",),
        ),
        {
            "a.elements": "blocks * 128",
            "a.whole": "65536",
            "b.elements": "blocks * 128",
            "b.whole": "65536",
            "n": None,
            "blocks": (512, 512, 512),
            "grid": ("blocks",),
        },
    ),
    "four bytes for each thread of a plane": (
        proposal(
            buffer("image", "output", "uint8", elements=str(4 * 1024 * 1024)),
            grid=("64", "64"),
            block=("16", "16"),
        ),
        {
            "image.elements": "blocks * blocks_y * 1024",
            "image.whole": str(4 * 1024 * 1024),
            "blocks": (64, 64, 64),
            "blocks_y": (64, 64, 64),
            "grid": ("blocks", "blocks_y"),
        },
    ),
    "the last block has threads without an element": (
        proposal(buffer("b", "output", elements="1000"), grid=("8",)),
        {"b.elements": "blocks * 128", "b.whole": "1000", "blocks": (8, 8, 8), "grid": ("blocks",)},
    ),
    "a number that has nothing to do with the blocks stays": (
        proposal(buffer("b", "output", elements="1001"), grid=("10",)),
        {},
    ),
    "one dimension has a single block": (
        proposal(buffer("image", "output", elements="16384"), grid=("64", "1"), block=("16", "16")),
        {
            "image.elements": "blocks * 256",
            "image.whole": "16384",
            "blocks": (64, 64, 64),
            "grid": ("blocks", "1"),
        },
    ),
    "there is a single block": (
        proposal(buffer("b", "output", elements="128"), grid=("1",)),
        {},
    ),
    "a size of the data says how many there are along one dimension": (
        # 10007 / 128 * 64 in the train case, and another number in the others.
        proposal(N, buffer("b", "output", elements="4992"), grid=("n / 128", "64")),
        {},
    ),
    "a variable stays as the source declares it": (
        proposal(buffer("b", "output", symbol="b", elements="1024"), grid=("8",)),
        {},
    ),
}

FEWER: dict[str, tuple[Proposal, float, Changes]] = {
    "fewer on the host, still fewer held out, all of them on a GPU": (
        proposal(buffer("a", elements="4"), grid=("16384",)),
        64,
        {"blocks": (256, 192, 16384), "grid": ("blocks",)},
    ),
    "as many in both cases where a size differs already": (
        proposal(N, A, B, grid=("4096",)),
        64,
        {"blocks": (64, 64, 4096), "grid": ("blocks",)},
    ),
    "one dimension after the other, and two blocks at least": (
        proposal(buffer("a", elements="4"), grid=("64", "64"), block=("16", "16")),
        64,
        {"blocks": (2, 2, 64), "blocks_y": (32, 24, 64), "grid": ("blocks", "blocks_y")},
    ),
    "another name where the kernel has that one": (
        proposal(buffer("blocks", elements="4"), grid=("16384",)),
        64,
        {"blocks_y": (256, 192, 16384), "grid": ("blocks_y",)},
    ),
    "blocks of which there are fewer already": (
        proposal(size("blocks", 256, 192, 16384, blocks=True), buffer("a"), grid=("blocks",)),
        4,
        {"blocks": (64, 48, 16384)},
    ),
    "what is computed of a size follows it": (
        proposal(N, A, B, scalar("all", 0, computed="n * 2"), grid=("all / 128",)),
        64,
        {},
    ),
}


@pytest.mark.parametrize("name", FOLLOWING)
def test_buffers_with_elements_for_each_block_follow_the_blocks(name: str) -> None:
    before, expected = FOLLOWING[name]
    assert changes(before, following(before)) == expected


@pytest.mark.parametrize("name", FEWER)
def test_the_host_gets_fewer_blocks(name: str) -> None:
    before, factor, expected = FEWER[name]
    assert changes(before, fewer_blocks(before, factor)) == expected


def test_the_number_of_the_source_stands_beside_the_new_ones() -> None:
    before = proposal(buffer("a", elements="8388608"), grid=("16384",), block=("512",))
    found = fewer_blocks(following(before), 64)
    assert found.buffers[0].notes.size == (
        "8388608 in the source, and as many less as there are fewer blocks"
    )
    assert found.extents[0].note == (
        "fewer than the 16384 of the source, so that a launch takes milliseconds"
    )
