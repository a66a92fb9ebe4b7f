"""Assertions that a command refuses its arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tests.command import Done

SCALE = Path(__file__).parents[2] / "targets" / "scale"

EVOLVE = ("evolve", "t", "--run", "run")

Tree = Mapping[str, bytes | None]


def tree(folder: Path) -> Tree:
    """Return every path in a folder, with the contents of files."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def is_refused(done: Done, *said: str) -> None:
    """Assert one message on stderr with all of these words, exit status 2, no traceback."""
    assert done.returncode == 2, done
    assert "Traceback" not in done.stderr
    assert len(re.findall("error", done.stderr, re.I)) >= 1
    if done.stderr.startswith("gi-cuda"):
        assert done.stderr.startswith("gi-cuda: error: ")
        assert done.stderr.count("gi-cuda: error: ") == 1
    for words in said:
        assert words in done.stderr
