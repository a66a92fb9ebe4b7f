"""A target that records which cases are made."""

from __future__ import annotations

import shutil
from pathlib import Path

SCALE = Path(__file__).parent / "targets" / "scale"


def copy_that_notes(folder: Path) -> Path:
    """Copy the target ``scale`` below a folder, and make it record its cases."""
    made = folder / "scale"
    shutil.copytree(SCALE, made, ignore=shutil.ignore_patterns("__pycache__"))
    data, note = made / "data.py", str(_note(made))
    noting = f'    with open({note!r}, "a") as log:\n        log.write(f"{{seed}} ")\n'
    data.write_text(data.read_text().replace("    rng =", f"{noting}    rng ="))
    return made


def seeds_made(target: Path) -> list[str]:
    """Return the seeds of the cases that were made so far."""
    return _note(target).read_text().split()


def _note(target: Path) -> Path:
    return target.parent / "made"
