"""Hashes of everything besides a phenotype that decides a compiler's code for it.

They do not depend on paths: two copies of a target in two folders compile to the same code.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache, lru_cache
from hashlib import blake2b
from pathlib import Path

from gi_cuda.backends.compile.process import run

_BACKENDS = Path(__file__).parents[2]
_SOURCES = frozenset({".py", ".hpp", ".h"})
_ENVIRONMENT = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
"""Environment variables that change a compiler's output without an option."""

_MARKER = re.compile(r"^#(?:line)? \d+[^\n]*\n", re.M)
_BYTES = 20


def digest(parts: Iterable[str | bytes]) -> bytes:
    """Return a collision-resistant hash of a sequence."""
    found = blake2b(digest_size=_BYTES)
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        found.update(len(data).to_bytes(8, "little") + data)
    return found.digest()


@cache
def of_tool() -> bytes:
    """Return a hash of the code and headers of this package that make compiler input."""
    files = sorted(path for path in _BACKENDS.rglob("*") if path.suffix in _SOURCES)
    names = [str(path.relative_to(_BACKENDS)) for path in files]
    return digest([*names, *(path.read_bytes() for path in files)])


@cache
def of_program(program: str) -> str:
    """Return a compiler's version output, with the environment variables that change its output."""
    said = run([program, "--version"], limit=20.0).stdout
    return "\n".join([said, *(os.environ.get(name, "") for name in _ENVIRONMENT)])


@lru_cache(maxsize=8)
def of_text(text: str) -> bytes:
    """Return a hash of a preprocessed text that ignores the files that it comes from."""
    return digest([without_markers(text)])


def without_places(options: Iterable[str]) -> list[str]:
    """Return compiler options without include folders: the headers' contents count instead."""
    return [option for option in options if not option.startswith("-I")]


def without_markers(text: str) -> str:
    """Return a preprocessed text without line markers, which name the files that it comes from."""
    return _MARKER.sub("", text)
