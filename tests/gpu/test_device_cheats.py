"""No cheat is certified on the device either."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cheats import targets
from tests.cheats.trying import certified


@pytest.mark.parametrize("target", targets("cuda"))
def test_no_cheat_is_certified(target: str, tmp_path: Path) -> None:
    assert certified(target, "cuda", tmp_path / "run") == []
