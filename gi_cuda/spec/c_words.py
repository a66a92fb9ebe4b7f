"""Integer types and constants of C, for integer expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator

_ESCAPES = dict(zip("abfnrtv\\'\"?0", b"\a\b\f\n\r\t\v\\'\"?\0", strict=True))


def read_character(text: str) -> int | None:
    """Return the value of a plain character constant; None if the text is none."""
    body = text[1:-1]
    code: int | None = None
    if len(body) == 1 and ord(body) < 128 and body != "\\":
        code = ord(body)
    elif len(body) == 2 and body[0] == "\\" and body[1] in _ESCAPES:
        code = _ESCAPES[body[1]]
    elif re.fullmatch(r"\\[0-7]{1,3}", body):
        code = int(body[1:], 8) & 0xFF
    elif re.fullmatch(r"\\x[0-9a-fA-F]{1,2}", body):
        code = int(body[2:], 16)
    return code if code is None or code < 128 else code - 256


def read_integer(text: str) -> int | None:
    """Return the value of an integer constant in base 2, 8, 10 or 16; None if the text is none."""
    digits = text.lower().rstrip("ul")
    for prefix, base in (("0x", 16), ("0b", 2)):
        if digits.startswith(prefix):
            return int(digits[2:], base)
    try:
        return int(digits, 8 if digits.startswith("0") else 10)
    except ValueError:
        return None


def _spellings() -> Iterator[tuple[str, int, bool]]:
    """Yield every spelling of a built-in integer type: sorted words, bits, unsigned or not."""
    yield from (("char", 8, False), ("char signed", 8, False), ("char unsigned", 8, True))
    for bits, words in ((16, "short"), (32, ""), (64, "long"), (64, "long long")):
        for sign in ("", "signed", "unsigned"):
            for noun in ("", "int"):
                name = " ".join(sorted(f"{words} {sign} {noun}".split()))
                if name:
                    yield name, bits, sign == "unsigned"


CASTS = {name: (bits, unsigned) for name, bits, unsigned in _spellings()}
_SCALARS = {
    **{name: bits // 8 for name, (bits, _) in CASTS.items()},
    **{f"{sign}int{bits}_t": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{"float": 4, "double": 8, "half": 2, "size_t": 8, "bool": 1, "_Bool": 1},
}
_VECTORS = {
    f"{sign}{name}{lanes}": size * lanes
    for sign in ("", "u")
    for name, size in (("char", 1), ("short", 2), ("int", 4), ("long", 8), ("longlong", 8))
    for lanes in (1, 2, 3, 4)
} | {
    f"{name}{lanes}": size * lanes
    for name, size in (("float", 4), ("double", 8))
    for lanes in (1, 2, 3, 4)
}
SIZES = {**_SCALARS, **_VECTORS, "half2": 4}
