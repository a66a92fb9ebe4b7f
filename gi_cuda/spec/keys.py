"""Where the keys of a target's file stand."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.spec import Target
from gi_cuda.spec.locate import KeyLines


def data_file(target: Target) -> Path:
    """The data module, named as the user names the target."""
    if target.data.is_relative_to(target.folder):
        return target.file.parent / target.data.relative_to(target.folder)
    return target.data


def keys_of(target: Target) -> KeyLines:
    """The places of all keys of ``target.toml``; of none, if it is gone by now."""
    try:
        text = target.file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    return KeyLines.of(target.file, text)
