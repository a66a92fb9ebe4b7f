"""Values of the variables of build files."""

from __future__ import annotations

import re
from collections.abc import Mapping

_USED = re.compile(r"\$\(([\w.-]+)\)|\$\{([\w.-]+)\}")
_DEPTH = 8


def expanded(text: str, variables: Mapping[str, str], depth: int = 0) -> str | None:
    """A text with variables put in; None where one is not known, or more is asked for than that."""
    unknown = False

    def value(match: re.Match[str]) -> str:
        nonlocal unknown
        body = variables.get(match[1] or match[2])
        inner = None if body is None or depth > _DEPTH else expanded(body, variables, depth + 1)
        unknown = unknown or inner is None
        return inner or ""

    found = _USED.sub(value, text)
    return None if unknown or "$" in found else found
