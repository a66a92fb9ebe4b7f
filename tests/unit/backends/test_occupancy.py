"""Occupancy, against what NVIDIA's occupancy calculator gives."""

from __future__ import annotations

import pytest

from gi_cuda.backends.cuda.compile.inspection import occupancy


@pytest.mark.parametrize(
    ("architecture", "threads", "registers", "shared", "share"),
    [
        ("sm_90", 256, 32, 0, 1.0),
        ("sm_90", 256, 33, 0, 0.75),  # registers come in units: 33 count as 40
        ("sm_90", 256, 64, 0, 0.5),
        ("sm_90", 1024, 33, 0, 0.5),  # a second block has no room
        ("sm_90", 256, 32, 100 * 1024, 0.25),
        ("sm_90", 32, 32, 0, 0.5),  # as many blocks as there may be
        ("sm_90", 33, 32, 0, 1.0),  # a warp of one thread counts as a warp
        ("sm_86", 256, 32, 0, 1.0),
        ("sm_75", 1024, 32, 0, 1.0),
        ("sm_90a", 256, 0, 0, 1.0),
        ("sm_90", 1024, 255, 0, 0.0),  # does not run at all
    ],
)
def test_what_is_scarcest_decides(
    architecture: str, threads: int, registers: int, shared: int, share: float
) -> None:
    assert occupancy(architecture, threads, registers, shared) == share


def test_of_an_unknown_architecture_nothing_is_said() -> None:
    assert occupancy("sm_999", 256, 32, 0) is None
    assert occupancy("", 256, 32, 0) is None
