"""The steps of a whole number: one more, one less, its double, its half."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WHOLE = re.compile(r"(?P<digits>0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)(?P<suffix>[uUlL]*)")
_MOST = 2**31 - 1
"""What every type of a whole number holds: beyond it a step could be of another type."""


def whole(text: str) -> int | None:
    """The number that a literal of C++ spells; None for another one, such as ``1.5`` or ``017``."""
    match = _WHOLE.fullmatch(text)
    return int(match["digits"], 0) if match else None


def steps(text: str) -> tuple[str, ...]:
    """The steps of a literal, spelled as it is: in its base, with its suffix, none of them twice.

    None is negative, none is the literal itself; what is no whole number has none.
    """
    number, match = whole(text), _WHOLE.fullmatch(text)
    if number is None or match is None:
        return ()
    spell = f"{text[:2]}{{:x}}" if text[:2] in ("0x", "0X") else "{}"
    others = dict.fromkeys((number + 1, number - 1, 2 * number, number // 2))
    return tuple(
        spell.format(one) + match["suffix"] for one in others if one != number and 0 <= one <= _MOST
    )


def step_donors(prefix: str, texts: Iterable[str]) -> dict[str, str]:
    """The steps of all of some literals, each once, by size: texts by names such as ``num_K32``."""
    found = {step for text in texts for step in steps(text)}
    return {f"{prefix}_K{step}": step for step in sorted(found, key=lambda one: (whole(one), one))}
