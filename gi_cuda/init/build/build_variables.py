"""Values of the variables of build files."""

from __future__ import annotations

import re
from collections.abc import Mapping

_USED = re.compile(r"\$\(([\w.-]+)\)|\$\{([\w.-]+)\}")
_DEPTH = 8


def expanded(
    text: str, variables: Mapping[str, str], unset: str | None = None, depth: int = 0
) -> str | None:
    """Return a text with variables put in.

    Args:
        unset: stands for a variable that nobody sets.

    Returns:
        None where a variable has no value or is made of itself, or the text calls a function.
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
