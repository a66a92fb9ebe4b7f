"""Translate linkers' and loaders' messages about undefined symbols for users."""

from __future__ import annotations

import re

from gi_cuda.spec.launching.kernel_names import demangled

UNDEFINED = "nothing that is compiled defines it"
"""End of these messages."""

_SYMBOL = re.compile(r"undefined symbol:? [`']?(\w+)|undefined reference to [`'](\w+)")
_OWN_NAMESPACES = re.compile(r"\(anonymous namespace\)::(?:v\d+::)?")


def undefined(said: str) -> str:
    """Return a message about the undefined symbol in a linker's or loader's output, or ""."""
    match = _SYMBOL.search(said)
    if match is None:
        return ""
    return f"{said_name(match[1] or match[2])} is declared, but {UNDEFINED}"


def said_name(symbol: str) -> str:
    """Return a symbol's name as the source has it, without the namespaces of variants."""
    return _OWN_NAMESPACES.sub("", demangled(symbol))
