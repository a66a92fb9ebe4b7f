"""What ``gi-cuda init`` could not know and nobody has filled in yet."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from gi_cuda.evaluate.checks.finding import Finding
from gi_cuda.spec import Target
from gi_cuda.spec.load import MARK, data_file

_SHOWN = 8
_MARKED = re.compile(rf"(?<!marked ){MARK}\b")
"""The mark where it stands for something: the file's head explains it."""


def read_files(target: Target) -> dict[Path, str]:
    """The files that a user fills in; without those that cannot be read."""
    found = {}
    for path in (target.file, data_file(target)):
        try:
            found[path] = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
    return found


def left_to_fill_in(texts: Mapping[Path, str]) -> Iterator[Finding]:
    """Lines with a mark, file by file."""
    for path, text in texts.items():
        lines = [n for n, line in enumerate(text.splitlines(), 1) if _MARKED.search(line)]
        if lines:
            more = f" and {len(lines) - _SHOWN} more" if len(lines) > _SHOWN else ""
            shown = ", ".join(map(str, lines[:_SHOWN])) + more
            yield Finding(
                f"{path}:{lines[0]}",
                f"{MARK} is left in line{'s' if len(lines) > 1 else ''} {shown}",
                "what stands there was assumed: make sure of it, and take the mark away",
            )
