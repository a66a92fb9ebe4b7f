"""Fixes of launches that are impossible, slow or too short to be timed."""

from __future__ import annotations

from typing import Any

import pytest

from gi_cuda.grammar import SourceLine
from gi_cuda.init.proposing.buffers import Fill
from gi_cuda.init.proposing.geometry import Launching
from gi_cuda.trial.mending.mends import mends
from gi_cuda.trial.mending.resizing import other_block
from gi_cuda.trial.troubles import Brief, Impossible, Slow
from tests.unit.trial.proposals import (
    A,
    B,
    N,
    Row,
    buffer,
    changes,
    proposal,
    scalar,
    size,
    tried,
)

W, H = size("w", 128, 64, 1024), size("h", 64, 192, 1024)
PLANE: dict[str, Any] = {"grid": ("(w + 15) / 16", "(h + 7) / 8"), "block": ("16", "8")}

SLOW = {
    "five times too slow is four times less": Row(
        proposal(size("n", 601, 449, 4096), A, B),
        Slow("train", 0.01, over=False),
        [
            ("smaller sizes", {"n": (150, 112, 4096)}),
        ],
    ),
    "what was ended is 16 times less": Row(
        proposal(size("n", 601, 449, 4096), A, B),
        Slow("train", 2.0, over=True),
        [("smaller sizes", {"n": (37, 28, 4096)})],
    ),
    "several sizes get less together": Row(
        proposal(W, H, A, B, **PLANE),
        Slow("train", 0.02, over=False),
        [("smaller sizes", {"w": (32, 16, 1024), "h": (16, 48, 1024)})],
    ),
    "no size is less than 16": Row(
        proposal(size("n", 40, 32, 64), A, B),
        Slow("train", 2.0, over=True),
        [("smaller sizes", {"n": (16, 32, 64)})],
    ),
    "fewer rounds where the host code says how many": Row(
        proposal(scalar("rounds", 200000, source=True), buffer("a", elements="512"), grid=("4",)),
        Slow("train", 2.0, over=True),
        [
            ("smaller sizes", {"blocks": (2, 2, 4), "grid": ("blocks",)}),
            ("smaller scalars", {"rounds.value": 12500}),
        ],
    ),
    "a large buffer of a fixed size and its fixed grid": Row(
        proposal(buffer("a", elements="8888888"), grid=("16384",), block=("512",)),
        Slow("train", 0.03, over=False),
        [
            (
                "smaller sizes",
                {
                    "a.elements": "592592",
                    "a.grown": "8888888",
                    "blocks": (1092, 819, 16384),
                    "grid": ("blocks",),
                },
            ),
        ],
    ),
    "a size that says how many threads a block has stays": Row(
        proposal(size("w", 64, 64, 64), N, A, B, grid=("n",), block=("w",)),
        Slow("train", 0.01, over=False),
        [("smaller sizes", {"n": (2501, 1944, 1 << 20)})],
    ),
}

IMPOSSIBLE = {
    "a size that says how many threads a block has gets less": Row(
        proposal(size("n", 8192, 4096, 8192), A, B, grid=("1",), block=("n",)),
        Impossible("a block of 8192 on the case train"),
        [("smaller sizes", {"n": (512, 256, 8192)})],
    ),
    "a buffer of a fixed size and its grid get less": Row(
        proposal(buffer("a", elements="400000000"), grid=("3125000",), block=("128",)),
        Impossible("too much memory on the case train"),
        [
            (
                "smaller sizes",
                {
                    "a.elements": "blocks * 128",
                    "a.whole": "400000000",
                    "blocks": (195312, 146484, 3125000),
                    "grid": ("blocks",),
                },
            ),
            ...,
        ],
    ),
}

BRIEF = {
    "twenty times too short is twenty times more, then four": Row(
        proposal(N, A, B),
        Brief(1e-5),
        [
            ("larger sizes", {"n": (200140, 155540, 1 << 20)}),
            ("larger sizes", {"n": (40028, 31108, 1 << 20)}),
        ],
    ),
    "several sizes share the factor": Row(
        proposal(W, H, A, B, **PLANE),
        Brief(1e-5),
        [
            ("larger sizes", {"w": (512, 256, 1024), "h": (256, 768, 1024)}),
            ("larger sizes", {"w": (256, 128, 1024), "h": (128, 384, 1024)}),
        ],
    ),
    "other data as well where all answers are one value": Row(
        proposal(buffer("a", elements="64"), buffer("b", "output", elements="64"), grid=("1",)),
        Brief(1e-5, alike=True),
        [
            ("real numbers from -1 to 1", {"a.fill": Fill(-1, 1)}),
            ("data from a wider range", {"a.fill": Fill(-100, 100)}),
        ],
    ),
    "nothing where no size makes it longer": Row(
        proposal(buffer("a", elements="64"), buffer("b", "output", elements="64"), grid=("1",)),
        Brief(1e-5),
        [],
    ),
}


@pytest.mark.parametrize("name", SLOW)
def test_a_slow_launch_gets_less_to_do(name: str) -> None:
    row = SLOW[name]
    assert tried(row) == row.mends


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_a_launch_that_is_too_large_gets_less_to_do(name: str) -> None:
    row = IMPOSSIBLE[name]
    assert tried(row) == row.mends


@pytest.mark.parametrize("name", BRIEF)
def test_a_launch_that_is_too_short_gets_more_to_do(name: str) -> None:
    row = BRIEF[name]
    assert tried(row) == row.mends


def test_the_reason_for_another_size_stands_beside_it() -> None:
    before = proposal(size("n", 601, 449, 4096), scalar("rounds", 200000, source=True), A, B)
    every = [mend.proposal for mend in mends(before, Slow("train", 0.01, over=False))]
    assert every[0].extents[0].note == (
        "smaller than they were at first, so that a launch takes milliseconds"
    )
    assert {one.scalars[0].note for one in every} == {
        "",
        "made smaller, so that a launch takes milliseconds; was 200000",
    }


@pytest.mark.parametrize(
    ("block", "then"),
    [
        (("128",), ("32",)),
        (("32",), ("16",)),
        (("16",), ("256",)),
        (("256",), None),
        (("16", "8"), ("16", "16")),
        (("16", "16"), ("8", "8")),
        (("32", "32"), None),
        (("8", "4", "4"), None),
        (("THREADS",), None),
    ],
)
def test_blocks_are_tried_in_turn_where_nothing_says_what_they_have(
    block: tuple[str, ...], then: tuple[str, ...] | None
) -> None:
    before = proposal(N, A, B, grid=("n",), block=block)
    found = other_block(before)
    assert (None if found is None else found.proposal.launching.block) == then


def test_the_block_of_the_host_code_stays() -> None:
    launching = Launching(("n",), ("128",), "0", SourceLine("k.cu", 9))
    assert other_block(proposal(N, A, B, launching=launching)) is None


def test_grid_and_shared_memory_follow_another_block() -> None:
    before = proposal(N, A, B, shared="128 * 4")
    found = other_block(before)
    assert found is not None
    assert changes(before, found.proposal) == {
        "grid": ("(n + 32 - 1) / 32",),
        "block": ("32",),
        "shared": "32 * 4",
    }
