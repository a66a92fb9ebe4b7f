"""C++ names of kernels: ``blur``, ``image::blur<float, 3>``, ``scale(float *, int)``.

A target may name a template instance, a function in a namespace, and one of several overloads by
its parameter types. This module is independent of compilers.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence

_SPACE = re.compile(r"\s+")
_NEEDLESS_SPACE = re.compile(r"(?<=[^\w])\s+|\s+(?=[^\w])")
_NOT_PLAIN = re.compile(r"[^A-Za-z0-9]")
_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)


MOST_LISTED = 20
"""Largest number of kernels that a message lists."""


def listed(names: Sequence[str]) -> str:
    """List kernels for a message: the first ones, and the number of the rest."""
    more = len(names) - MOST_LISTED
    shown = ", ".join(names[:MOST_LISTED])
    return f"{shown} and {more} more" if more > 0 else shown


def overload(name: str) -> tuple[str, str | None]:
    """Split a name into the name without parameter types, and the list of types or None.

    >>> overload("scale(float *, int)")
    ('scale', '(float *, int)')
    """
    depth = 0
    for at, character in enumerate(name):
        depth += (character == "<") - (character == ">")
        if character == "(" and depth == 0:
            return name[:at].strip(), name[at:].strip()
    return name.strip(), None


def reference(name: str) -> str:
    """Return a C++ expression that denotes the kernel, valid wherever its name is in scope."""
    plain, types = overload(name)
    return plain if types is None else f"static_cast<void (&){types}>({plain})"


def is_plain(name: str) -> bool:
    """Tell whether the name is an identifier, without namespace, template or parameter types."""
    return _PLAIN.fullmatch(name) is not None


def identifier(name: str) -> str:
    """Return a unique C identifier for the kernel; plain names stay as they are.

    Insignificant white space in the name makes no difference.
    """
    if is_plain(name):
        return name
    short = _NEEDLESS_SPACE.sub("", _SPACE.sub(" ", name.strip()))
    return _NOT_PLAIN.sub(lambda m: "".join(f"_{byte:02X}" for byte in m[0].encode()), short)


def demangled(mangled: str) -> str:
    """Demangle a name; return the name unchanged if that fails."""
    if not mangled.startswith("_Z"):
        return mangled
    try:
        library = ctypes.CDLL("libstdc++.so.6")
    except OSError:
        return mangled
    library.__cxa_demangle.restype = ctypes.c_void_p
    status = ctypes.c_int()
    found = library.__cxa_demangle(mangled.encode(), None, None, ctypes.byref(status))
    if not found:
        return mangled
    text = ctypes.string_at(found).decode(errors="replace")
    library.free(ctypes.c_void_p(found))
    return text
