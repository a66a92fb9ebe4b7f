"""Expansion of variables in build files."""

from __future__ import annotations

import re
from collections.abc import Mapping

_USED = re.compile(r"\$\(([\w.-]+)\)|\$\{([\w.-]+)\}")
_DEPTH = 8


def expanded(
    text: str, variables: Mapping[str, str], unset: str | None = None, depth: int = 0
) -> str | None:
    """Return a text with its variables expanded.

    Args:
        unset: value of undefined variables; None if these cannot be expanded.

    Returns:
        None if a variable has no value or refers to itself, or if the text calls a function.
    """
    unknown = False

    def value(match: re.Match[str]) -> str:
        nonlocal unknown
        body = variables.get(match[1] or match[2], unset)
        inner = None
        if body is not None and depth <= _DEPTH:
            inner = expanded(body, variables, unset, depth + 1)
        unknown = unknown or inner is None
        return inner or ""

    found = _USED.sub(value, text)
    return None if unknown or "$" in found else found
