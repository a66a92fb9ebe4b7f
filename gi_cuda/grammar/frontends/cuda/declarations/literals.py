"""Types of numeric literals."""

from __future__ import annotations

import re

from gi_cuda.grammar.values import Type

_NUMBER = re.compile(r"[-+]?(?P<hex>0[xX])?.*?(?P<suffix>[uUlLfFzZ]*)", re.DOTALL)


def type_of_literal(text: str) -> Type | None:
    """Return the type of a numeric literal; None if it has a user-defined suffix."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    suffix = match["suffix"].lower()
    digits = text.lower()
    floats = (
        "." in digits or (not match["hex"] and "e" in digits) or (match["hex"] and "p" in digits)
    )
    if match["hex"] and not floats:
        suffix = suffix.replace("f", "")
    elif floats:
        return Type({"f": "float", "l": "long double"}.get(suffix, "double"))
    if "z" in suffix or (digits[-1:].isalpha() and not suffix and not match["hex"]):
        return None
    bare = digits.strip("+-").rstrip("ul").replace("'", "")
    base = 16 if match["hex"] else 2 if bare[:2] == "0b" else 8 if bare[:1] == "0" else 10
    try:
        value = int(bare, base)
    except ValueError:
        return None
    longs = suffix.count("l")
    signed_only = base == 10 and "u" not in suffix
    if longs == 0 and value > (0x7FFFFFFF if signed_only else 0xFFFFFFFF):
        longs = 1
    most = 0x7FFFFFFF if longs == 0 else 0x7FFFFFFFFFFFFFFF
    unsigned = "u" in suffix or (base != 10 and value > most)
    return Type(("unsigned " if unsigned else "") + (" ".join(["long"] * longs) or "int"))
