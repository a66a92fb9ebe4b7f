"""Fixes of one line, and troubles without a fix."""

from __future__ import annotations

import pytest

from gi_cuda.errors import UserError
from gi_cuda.init import Step
from gi_cuda.init.proposing.geometry import Launching
from gi_cuda.trial.mending.mends import mends
from gi_cuda.trial.troubles import Idle, LeftOut, Refused
from tests.unit.trial.proposals import (
    A,
    B,
    N,
    Row,
    changes,
    macro,
    proposal,
    scalar,
    tried,
)

BLOCK = macro("BLOCK", 128, 64, 128)

MENDS = {
    "masks may leave out their callers": Row(
        proposal(N, A, B),
        LeftOut("k, line 3: thread (16,0,0)"),
        [("masks taken as devices do", {"left_out": "k, line 3: thread (16,0,0)"})],
    ),
    "parameters that change nothing become numbers": Row(
        proposal(
            *(N, A, B, BLOCK, scalar("half", 0, computed="BLOCK / 2")),
            grid=("(n + BLOCK - 1) / BLOCK",),
            block=("BLOCK",),
            shared="BLOCK * 4",
        ),
        Idle(frozenset({"BLOCK"})),
        [
            (
                "BLOCK fixed",
                {
                    "BLOCK.active": False,
                    "half.computed": "128 / 2",
                    "grid": ("(n + 128 - 1) / 128",),
                    "block": ("128",),
                    "shared": "128 * 4",
                    "named": 'kernel = "k", grid = ["(n + BLOCK - 1) / BLOCK"], block = ["BLOCK"]',
                },
            )
        ],
    ),
    "a source that does not compile is not mended": Row(
        proposal(N, A, B), Refused(UserError("it does not compile")), []
    ),
}


@pytest.mark.parametrize("name", MENDS)
def test_mends(name: str) -> None:
    row = MENDS[name]
    assert tried(row) == row.mends


def test_further_launches_get_the_same_number_for_a_parameter() -> None:
    further = Step("l", Launching(("n / BLOCK",), ("BLOCK",), "0"), ())
    before = proposal(N, A, B, BLOCK, further=(further,))
    (mend,) = mends(before, Idle(frozenset({"BLOCK"})))
    assert changes(before, mend.proposal) == {"BLOCK.active": False}
    (step,) = mend.proposal.further
    assert (step.launching.grid, step.launching.block) == (("n / 128",), ("128",))
