"""Mends of surfaces that are too small for a launch."""

from __future__ import annotations

from typing import Any

import pytest

from gi_cuda.init.proposing.buffers import Image, ProposedBuffer
from gi_cuda.trial.surfaces import with_texels
from tests.unit.trial.proposals import N, buffer, proposal

LAUNCH: dict[str, Any] = {"grid": ("160 / 8", "n / 8"), "block": ("8", "8")}


def surface(*texels: str, layered: bool = False, surface: bool = True) -> ProposedBuffer:
    image = Image(surface=surface, dimensions=len(texels), size=texels, layered=layered)
    return buffer("out", "output", elements=" * ".join(texels), texture="out", image=image)


@pytest.mark.parametrize(
    ("texels", "expected"),
    [
        (
            ("64", "64"),
            [
                ("(160 / 8) * 8", "(n / 8) * 8"),
                ("(160 / 8) * 8 * 2", "(n / 8) * 8"),
                ("(160 / 8) * 8 * 4", "(n / 8) * 8"),
            ],
        ),
        (("64",), [("(160 / 8) * 8",), ("(160 / 8) * 8 * 2",), ("(160 / 8) * 8 * 4",)]),
        (
            ("64", "64", "4"),
            [(f"(160 / 8) * 8{wide}", "(n / 8) * 8", "1 * 1") for wide in ("", " * 2", " * 4")],
        ),
        # The host code says how large it is.
        (("n", "n"), []),
    ],
)
def test_a_surface_has_texels_for_each_thread(
    texels: tuple[str, ...], expected: list[tuple[str, ...]]
) -> None:
    before = proposal(N, surface(*texels), **LAUNCH)
    every = list(with_texels(before))
    found = [mend.proposal.buffers[0] for mend in every]
    assert [one.image and one.image.size for one in found] == expected
    assert [mend.said.split()[2] for mend in every] == ["1", "2", "4"][: len(expected)]
    for one in found:
        assert one.notes.size == "texels for each thread of the launch"


def test_its_buffer_has_as_many_elements() -> None:
    first, *_ = with_texels(proposal(N, surface("64", "64"), **LAUNCH))
    assert first.proposal.buffers[0].elements == "((160 / 8) * 8) * ((n / 8) * 8)"


@pytest.mark.parametrize("other", [surface("64", layered=True), surface("64", surface=False)])
def test_layers_and_textures_stay(other: ProposedBuffer) -> None:
    assert not list(with_texels(proposal(N, other, **LAUNCH)))


def test_nothing_is_written_that_follows_a_parameter() -> None:
    before = proposal(surface("64", "64"), grid=("160 / BLOCK",), block=("BLOCK",))
    assert not list(with_texels(before))
