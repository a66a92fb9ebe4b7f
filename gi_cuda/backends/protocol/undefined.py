"""What linkers and loaders say of what a source only declares, in words for people."""

from __future__ import annotations

import re

from gi_cuda.spec.kernel_names import demangled

UNDEFINED = "nothing that is compiled defines it"
"""What such words end in."""

_SYMBOL = re.compile(r"undefined symbol:? [`']?(\w+)|undefined reference to [`'](\w+)")
_OWN_NAMESPACES = re.compile(r"\(anonymous namespace\)::(?:v\d+::)?")


def undefined(said: str) -> str:
    """What is declared and not defined, by a linker's or loader's message; "" if that is none."""
    match = _SYMBOL.search(said)
    if match is None:
        return ""
    return f"{said_name(match[1] or match[2])} is declared, but {UNDEFINED}"


def said_name(symbol: str) -> str:
    """A symbol as a source has it, without the namespaces of variants."""
    return _OWN_NAMESPACES.sub("", demangled(symbol))
