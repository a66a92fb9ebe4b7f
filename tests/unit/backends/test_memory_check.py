"""Sizes that exceed memory are refused before any allocation."""

from __future__ import annotations

import pytest

from gi_cuda.backends.protocol.device import LaunchRefused
from gi_cuda.backends.workers.cases.memory_check import check_room, memory
from gi_cuda.subject import Subject


def test_the_sum_is_said(scale: Subject) -> None:
    sizes = {buffer.name: 1000 for buffer in scale.target.buffers}
    check_room(scale.target, sizes)
    with pytest.raises(LaunchRefused, match=r"GB of it for out, and there are .* GB of memory"):
        check_room(scale.target, {**sizes, "out": memory()})
