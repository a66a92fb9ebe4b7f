"""No cheat is certified: not by a search, a validation, a comparison or a patch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cheats import targets
from tests.cheats.trying import certified
from tests.sweeps import broad, sweep


@pytest.mark.usefixtures("few_processes")
@pytest.mark.parametrize("target", sweep(targets("host"), "sizes"))
def test_no_cheat_is_certified(target: str, tmp_path: Path) -> None:
    assert certified(target, "host", tmp_path / "run") == []


@broad
@pytest.mark.usefixtures("few_processes")
@pytest.mark.parametrize("target", ["answers", "cache", "draws", "scratch", "sizes"])
def test_none_is_with_a_transformation(target: str, tmp_path: Path) -> None:
    assert certified(target, "host", tmp_path / "run", transformed=True) == []
