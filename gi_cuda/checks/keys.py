"""Where the keys of a target's file stand."""

from __future__ import annotations

from gi_cuda.target import Target
from gi_cuda.target.locate import Places


def keys_of(target: Target) -> Places:
    """The places of all keys of ``target.toml``; of none, if it is gone by now."""
    try:
        text = target.file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    return Places.of(target.file, text)
