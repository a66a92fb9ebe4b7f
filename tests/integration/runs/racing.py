"""The target ``races`` of ``tests/cheats``, of whose threads some must wait for others."""

from __future__ import annotations

import shutil
from pathlib import Path

RACES = Path(__file__).parents[2] / "cheats" / "races"

_FEWER = {"n = 5000": "n = 1250", "n = 3333": "n = 834", "n = 4444": "n = 1111"}


def small_races(folder: Path) -> Path:
    """A copy of it with a quarter of the data. On a GPU many threads are needed to have some of
    them race; on the host a detector tells of one that does, and each that it watches takes it
    long."""
    made = Path(shutil.copytree(RACES, folder, ignore=shutil.ignore_patterns("__pycache__")))
    file = made / "target.toml"
    text = file.read_text()
    for many, few in _FEWER.items():
        assert many in text
        text = text.replace(many, few)
    file.write_text(text)
    return made
