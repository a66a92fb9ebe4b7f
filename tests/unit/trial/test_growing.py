"""Fixes of buffers that a kernel accesses out of bounds."""

from __future__ import annotations

import pytest

from gi_cuda.backends.protocol.device import POISON
from gi_cuda.backends.protocol.requests import (
    DYNAMIC_SHARED,
    Beyond,
)
from gi_cuda.init.proposing.buffers import Fill
from gi_cuda.trial.mending.growing import larger
from gi_cuda.trial.mending.mends import mends
from gi_cuda.trial.troubles import Beside
from tests.unit.trial.proposals import (
    A,
    B,
    Changes,
    N,
    Part,
    Row,
    beside,
    buffer,
    changes,
    proposal,
    size,
    tried,
)

M = size("m", 30, 60, 64)
BLOCKS = size("blocks", 64, 48, 8192, blocks=True, passed=False)
BY_POISON = Beyond(4 * (2**32 - POISON), 0, 0)
"""An index that is poison leads this far in front of a buffer of ``float``."""


def each(train: int, held_out: int) -> Beside:
    """Accesses so many bytes past the end of ``a``."""
    seen = {"train": train, "held-out": held_out}
    return Beside({case: {"a": Beyond(0, past, past)} for case, past in seen.items()})


GROWN: dict[str, tuple[tuple[Part, ...], Beside, Changes]] = {
    "a few elements are added": ((N, A, B), beside(a=40), {"a": "n + 10"}),
    "a multiple of the size": ((N, A, B), each(4 * 10007, 4 * 7777), {"a": "n * 2"}),
    "an element for each combination of sizes": (
        (N, M, buffer("a", elements="n"), B),
        each(4 * 10007 * 29, 4 * 7777 * 59),
        {"a": "m * n"},
    ),
    "an element for each thread": (
        (N, M, buffer("a", elements="m"), B),
        each(4 * (10112 - 30), 4 * (7808 - 60)),
        {"a": "((n + 128 - 1) / 128) * 128"},
    ),
    "a number stays a number": (
        (N, buffer("a", elements="100"), B),
        beside(a=400),
        {"a": "200"},
    ),
    "an element that is cut off counts": ((N, A, B), beside(a=41), {"a": "n + 11"}),
    "a buffer that grew before grows to twice what was seen": (
        (N, buffer("a", elements="n + 10", grown="n"), B),
        beside(a=Beyond(0, 400, 800)),
        {"a": "n + 210"},
    ),
    "several buffers at once": (
        (N, A, B),
        beside(a=40, b=20),
        {"a": "n + 10", "b": "n + 5"},
    ),
}


@pytest.mark.parametrize("name", GROWN)
def test_a_buffer_grows_to_the_plainest_size_that_is_enough(name: str) -> None:
    parts, trouble, sizes = GROWN[name]
    before = proposal(*parts)
    (mend,) = larger(before, trouble)
    firsts = {one.name: one.grown or one.ahead(before.counts) for one in before.buffers}
    expected: Changes = {}
    for buffer_name, elements in sizes.items():
        expected[f"{buffer_name}.elements"] = elements
        expected[f"{buffer_name}.grown"] = firsts[buffer_name]
    if any(one.grown for one in before.buffers):
        del expected["a.grown"]  # it was that already
    assert changes(before, mend.proposal) == expected
    assert mend.said == ", ".join(f"{one} grown to {to}" for one, to in sizes.items())
    grown = next(one for one in mend.proposal.buffers if one.name == "a")
    assert grown.notes.size == f"grown from `{firsts['a']}`: the kernel goes up to there"


OTHERS = {
    "elements in front of the begin": Row(
        proposal(N, A, B),
        beside(a=Beyond(20000, 0, 0)),
        [("a with 5000 in front of its begin", {"a.begin": "5000"}), ...],
    ),
    "the source's size where fewer blocks made it less": Row(
        proposal(
            BLOCKS, buffer("a", elements="blocks * 128", whole="1048576"), B, grid=("blocks",)
        ),
        beside(a=400),
        [("a grown to 1048576", {"a.elements": "1048576", "a.whole": ""}), ...],
    ),
    "a buffer that was made smaller becomes what it was": Row(
        proposal(buffer("a", elements="592592", grown="8888888"), B, grid=("1092",)),
        beside(a=Beyond(0, 4, 4 * 8888888)),
        [("a grown to 8888888", {"a.elements": "8888888", "a.grown": ""}), ...],
    ),
    "more shared memory for each thread": Row(
        proposal(N, A, B, shared="128 * 4"),
        beside(**{DYNAMIC_SHARED: Beyond(0, 33, 33)}),
        [("shared memory grown to 128 * 8 bytes", {"shared": "128 * 8"}), ...],
    ),
    "shared memory where there was none": Row(
        proposal(N, A, B),
        beside(**{DYNAMIC_SHARED: Beyond(0, 4096, 4096)}),
        [("shared memory grown to 128 * 32 bytes", {"shared": "128 * 32"}), ...],
    ),
    "a variable stays as large as the source declares it": Row(
        proposal(N, buffer("a", symbol="a", elements="100"), B),
        beside(a=400),
        [
            ("smaller sizes", {"n": (1250, 972, 1048576)}),
            ("a block of 32", {"block": ("32",), "grid": ("(n + 32 - 1) / 32",)}),
        ],
    ),
    "an index read past an end says nothing of what it leads to": Row(
        proposal(N, A, B),
        beside(a=BY_POISON, b=400),
        [("b grown to n + 100", {"b.elements": "n + 100", "b.grown": "n"}), ...],
    ),
    "such an index counts where nothing is read past an end": Row(
        proposal(N, A, B),
        beside(a=BY_POISON),
        [
            (f"a with {2**32 - POISON} in front of its begin", {"a.begin": str(2**32 - POISON)}),
            ...,
        ],
    ),
    "numbers that are as small already stay": Row(
        proposal(
            N,
            buffer("flags", kind="int32", elements="n", fill=Fill(0, 2)),
            buffer("a", elements="n"),
            B,
        ),
        beside(a=4 * 20000),
        [
            ("a grown to n * 4", {"a.elements": "n * 4", "a.grown": "n"}),
            ("smaller sizes", {"n": (1250, 972, 1048576)}),
            ("a block of 32", {"block": ("32",), "grid": ("(n + 32 - 1) / 32",)}),
        ],
    ),
    "bytes may be letters before they are flags": Row(
        proposal(N, buffer("text", kind="uint8"), buffer("a", elements="n"), B, grid=("n",)),
        beside(a=40),
        [
            ("a grown to n + 10", {"a.elements": "n + 10", "a.grown": "n"}),
            ("smaller sizes", {"n": (1250, 972, 1048576)}),
            ("a block of 32", {"block": ("32",)}),
            ("bytes below 100", {"text.fill": Fill(0, 100)}),
            ("whole numbers of 0 and 1", {"text.fill": Fill(0, 2)}),
        ],
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_accesses_beside_buffers_are_mended(name: str) -> None:
    row = OTHERS[name]
    assert tried(row) == row.mends


def test_no_buffer_grows_beyond_memory() -> None:
    before = proposal(N, A, B)
    trouble = beside(a=1 << 33)
    assert not any("grown" in mend.said for mend in mends(before, trouble))
