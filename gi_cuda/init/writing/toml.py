"""Format values and tables of a target as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple


class Noted(NamedTuple):
    """A value of a key, and a comment after it; "" for none."""

    value: object
    note: str


def to_toml(value: object) -> str:
    """Return a value in TOML: a text, a number, a list or an inline table, with its comment."""
    if isinstance(value, Noted):
        return to_toml(value.value) + behind(value.note)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {to_toml(item)}' for key, item in value.items())} }}"
    if isinstance(value, float):
        return f"{value:.0e}".replace("e-0", "e-")
    return json.dumps(value, ensure_ascii=False)


def behind(note: str) -> str:
    """Return a note as a comment that follows a value on its line."""
    return f"     # {note}" if note else ""


def table(header: str, comment: str = "", **keys: object) -> str:
    """Return a table of a target: comment lines, the header, and the keys that are not None."""
    lines = [f"# {line}" for line in comment.splitlines()]
    lines += [header, *(f"{key} = {to_toml(v)}" for key, v in keys.items() if v is not None)]
    return "\n".join(lines)
