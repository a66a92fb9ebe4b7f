"""The target ``races`` of ``tests/cheats``, whose threads have to wait for each other."""

from __future__ import annotations

import shutil
from pathlib import Path

RACES = Path(__file__).parents[2] / "cheats" / "races"

_FEWER = {"n = 5000": "n = 1250", "n = 3333": "n = 834", "n = 4444": "n = 1111"}


def small_races(folder: Path) -> Path:
    """Copy the target with a quarter of the data.

    A GPU needs many threads to show a race. The host's detector finds a race of any two threads,
    but is
    slow with many.
    """
    made = Path(shutil.copytree(RACES, folder, ignore=shutil.ignore_patterns("__pycache__")))
    file = made / "target.toml"
    text = file.read_text()
    for many, few in _FEWER.items():
        assert many in text
        text = text.replace(many, few)
    file.write_text(text)
    return made
