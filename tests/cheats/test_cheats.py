"""No cheat is certified: not by a search, a validation, a comparison or a patch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cheats import targets
from tests.cheats.trying import certified
from tests.sweeps import sweep


@pytest.mark.usefixtures("few_processes")
@pytest.mark.parametrize("target", sweep(targets("host"), "sizes"))
def test_no_cheat_is_certified(target: str, tmp_path: Path) -> None:
    assert certified(target, "host", tmp_path / "run") == []
