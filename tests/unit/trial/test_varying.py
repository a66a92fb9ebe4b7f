"""Scalars that differ from case to case."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from gi_cuda.grammar.frontends.cuda.declarations.element_types import Element
from gi_cuda.init.proposing.buffers import Image
from gi_cuda.init.proposing.members import ProposedScalar
from gi_cuda.trial import Outcome
from gi_cuda.trial.mending.varying import with_varied_scalars
from gi_cuda.trial.troubles import Brief, Trouble, Unjudged
from tests.unit.trial.proposals import A, B, N, answering, buffer, changes, proposal, scalar, size

FREE: dict[str, tuple[ProposedScalar, bool]] = {
    "a real number of the host code": (scalar("s", 2.5, "float32", source=True), True),
    "a real number that was guessed": (scalar("s", 0.5, "float64"), True),
    "1.0 is a factor": (scalar("s", 1.0, "float32", source=True), True),
    "64.0 of the host code may count something": (scalar("s", 64.0, "float32", source=True), False),
    "64.0 that was guessed counts nothing": (scalar("s", 64.0, "float32"), True),
    "0.0 may switch something off": (scalar("s", 0.0, "float32"), False),
    "a whole number that was guessed": (scalar("s", 2), True),
    "a whole number of the host code": (scalar("s", 2, source=True), False),
    "a switch": (scalar("s", 1, Element("uint8", truth=True)), False),
    "a real number that follows a size": (scalar("s", 0.5, "float32", computed="n"), False),
    "an array of a struct": (scalar("s", 0.5, "float32", count=5), False),
    "a size": (scalar("m", 100), False),
    "what the grid follows": (scalar("tile", 8), False),
    "what a size follows": (scalar("pitch", 8), False),
    "what a texture follows": (scalar("wide", 8), False),
    "what is computed of it follows": (scalar("half", 8), False),
}


@pytest.mark.parametrize("name", FREE)
def test_a_scalar_varies_if_nothing_but_the_kernel_asks_for_it(name: str) -> None:
    one, varies = FREE[name]
    image = Image(dimensions=1, size=("wide",))
    before = proposal(
        *(N, size("m", 100, 80, 1000), buffer("b", "output", elements="n")),
        *(buffer("a", elements="n * pitch"), buffer("t", elements="n", texture="t", image=image)),
        *(one, scalar("twice", 0, computed="half * 2")),
        grid=("n / tile",),
    )
    found = with_varied_scalars(Outcome(before, None), answering(None))
    assert changes(before, found.proposal) == ({f"{one.name}.varied": True} if varies else {})


BOTH = proposal(N, A, B, scalar("scale", 1.5, "float32"), scalar("shift", 2))
ALL, REAL = {"scale.varied": True, "shift.varied": True}, {"scale.varied": True}
BRIEF = Brief(1e-5)


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([None], ALL),
        ([Unjudged(), None], REAL),
        ([Unjudged(), Unjudged()], {}),
        # It was as short before.
        ([BRIEF, BRIEF], ALL),
        # It was not.
        ([BRIEF, None, BRIEF], {}),
        ([BRIEF, None, None], REAL),
    ],
)
def test_all_vary_or_the_real_ones_or_none(
    answers: Sequence[Trouble | None], expected: dict[str, bool]
) -> None:
    found = with_varied_scalars(Outcome(BOTH, None), answering(*answers))
    assert changes(BOTH, found.proposal) == expected


def test_nothing_is_tried_of_what_fails() -> None:
    outcome = Outcome(BOTH, Unjudged())
    assert with_varied_scalars(outcome, answering()) == outcome
