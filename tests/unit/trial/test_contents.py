"""Fixes of the contents of buffers and scalars, and of the roles of buffers."""

from __future__ import annotations

import signal

import pytest

from gi_cuda.backends.protocol.undefined import UNDEFINED
from gi_cuda.init.proposing.buffers import OFFSETS, Fill
from gi_cuda.results.measurement import Survival
from gi_cuda.trial.mending.mends import mends
from gi_cuda.trial.troubles import (
    Alike,
    Blind,
    Died,
    Roles,
    Tiny,
)
from tests.unit.trial.proposals import (
    A,
    B,
    N,
    Row,
    buffer,
    changes,
    proposal,
    scalar,
    tried,
)

INDEX = buffer("index", kind="int32", elements="n")
ROWS = scalar("rows", 8, source=True)

OTHER_BLOCK = ("a block of 32", {"block": ("32",), "grid": ("(n + 32 - 1) / 32",)})
ZEROS = (
    "outputs that hold zeros before each launch",
    {"b.role": "inout", "b.fill": Fill(0, 1)},
)
WHOLE_SIZES = ("sizes that are whole blocks", {"n": (9984, 7680, 1 << 20)})
SMALLER = ("smaller sizes", {"n": (1250, 972, 1 << 20)})
FLAGS_ONLY = ("whole numbers of 0 and 1", {"index.fill": Fill(0, 2)})


def names(*given: str) -> frozenset[str]:
    return frozenset(given)


def died(message: str = "", ended: int | None = signal.SIGSEGV) -> Died:
    return Died("train", Survival.CRASHED, ended, message)


DIED = {
    "data may be indices, or sizes must be whole blocks": Row(
        proposal(N, INDEX, A, B), died(), [OTHER_BLOCK, ZEROS, FLAGS_ONLY, WHOLE_SIZES, SMALLER]
    ),
    "without a signal, whole blocks come first": Row(
        proposal(N, INDEX, A, B), died(ended=None), [OTHER_BLOCK, WHOLE_SIZES, ZEROS, ...]
    ),
    "bytes may be letters before they are flags": Row(
        proposal(N, buffer("text", kind="uint8"), B),
        died(),
        [
            *(OTHER_BLOCK, ZEROS),
            ("bytes below 100", {"text.fill": Fill(0, 100)}),
            ("whole numbers of 0 and 1", {"text.fill": Fill(0, 2)}),
            ...,
        ],
    ),
    "the begins of rows stay": Row(
        proposal(N, buffer("begins", kind="int32", fill=OFFSETS), A, B),
        died(),
        [OTHER_BLOCK, ZEROS, WHOLE_SIZES, SMALLER],
    ),
    "nothing helps where a function is not defined": Row(
        proposal(N, A, B), died(f"f is declared, but {UNDEFINED}"), []
    ),
}

ROLES = {
    "written inputs keep their data, unwritten outputs hold zeros": Row(
        proposal(N, A, B, buffer("c", "output")),
        Roles(written=names("a"), unwritten=names("c")),
        [
            (
                "a, c made inout",
                {"a.role": "inout", "c.role": "inout", "c.fill": Fill(0, 1)},
            )
        ],
    ),
}

DATA = {
    "wider data, larger scalars, then few values": Row(
        proposal(N, A, INDEX, buffer("level", "inout", "int32"), ROWS),
        Blind(),
        [
            (
                "data from a wider range",
                {
                    "a.fill": Fill(-100, 100),
                    "index.fill": Fill(1, 1000),
                    "level.fill": Fill(1, 1000),
                },
            ),
            ("larger scalars", {"rows.value": 16}),
            ("numbers of few values", {"level.fill": Fill(-1, 2), "rows.value": 1}),
        ],
    ),
    "results that small changes show in, and a tolerance that is smaller": Row(
        proposal(N, A, buffer("sum", "inout")),
        Blind({"sum": 1e-17}),
        [
            ("smaller tolerance for sum", {"sum.magnitude": 1e-17}),
            ("data from a wider range", {"a.fill": Fill(-100, 100), "sum.fill": Fill(-100, 100)}),
            ("results that begin at zero", {"sum.fill": Fill(0, 1)}),
        ],
    ),
    "data on both sides of zero": Row(
        proposal(N, A, INDEX, B),
        Alike(),
        [
            ("real numbers from -1 to 1", {"a.fill": Fill(-1, 1)}),
            (
                "data from a wider range",
                {"a.fill": Fill(-100, 100), "index.fill": Fill(1, 1000)},
            ),
        ],
    ),
    "zeros stay zeros": Row(
        proposal(N, buffer("flags", kind="int32", fill=Fill(0, 1)), B), Alike(), []
    ),
    "small results get a small tolerance": Row(
        proposal(N, A, B, buffer("c", "output")),
        Tiny({"b": 5e-11}),
        [("smaller tolerance for b", {"b.magnitude": 5e-11})],
    ),
}


@pytest.mark.parametrize("name", DIED)
def test_a_launch_that_died_gets_other_contents(name: str) -> None:
    row = DIED[name]
    assert tried(row) == row.mends


@pytest.mark.parametrize("name", ROLES)
def test_roles_become_what_was_seen(name: str) -> None:
    row = ROLES[name]
    assert tried(row) == row.mends


@pytest.mark.parametrize("name", DATA)
def test_data_that_show_too_little_are_replaced(name: str) -> None:
    row = DATA[name]
    assert tried(row) == row.mends


def test_flags_keep_their_meaning_where_numbers_get_wider() -> None:
    """Types without such numbers keep theirs as well."""
    before = proposal(
        N, buffer("flags", kind="int32", fill=Fill(0, 2)), buffer("c", kind="int8"), B
    )
    wider = next(mends(before, Blind()))
    assert changes(before, wider.proposal) == {"flags.fill": Fill(1, 1000)}


def test_the_reason_for_other_data_stands_beside_them() -> None:
    before = proposal(N, A, INDEX, B)
    *_, narrow, _ = mends(before, died("it read 0x10, which is in no buffer"))
    assert narrow.proposal.buffers[1].notes.data == "small, as they may be indices"
    (seen,) = mends(before, Roles(written=names("a"), unwritten=names()))
    assert seen.proposal.buffers[0].notes.role == "the kernel was seen to write it"
