"""How the parts of a target are written as TOML."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple


class Noted(NamedTuple):
    """A value of a key, and what is said behind it; "" is nothing."""

    value: object
    note: str


def to_toml(value: object) -> str:
    """A value in TOML: a text, a number, a list or an inline table, perhaps with a note."""
    if isinstance(value, Noted):
        return to_toml(value.value) + behind(value.note)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {to_toml(item)}' for key, item in value.items())} }}"
    if isinstance(value, float):
        return f"{value:.0e}".replace("e-0", "e-")
    return json.dumps(value, ensure_ascii=False)


def behind(note: str) -> str:
    """A note as it stands behind a value."""
    return f"     # {note}" if note else ""


def table(header: str, comment: str = "", **keys: object) -> str:
    """A table of a target: lines of a comment, the header, the keys but those that are None."""
    lines = [f"# {line}" for line in comment.splitlines()]
    lines += [header, *(f"{key} = {to_toml(v)}" for key, v in keys.items() if v is not None)]
    return "\n".join(lines)
