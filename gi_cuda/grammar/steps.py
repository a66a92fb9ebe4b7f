"""Neighbours of an integer literal ("steps"): n + 1, n - 1, 2 * n, n // 2."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WHOLE = re.compile(r"(?P<digits>0[xX][0-9a-fA-F]+|0|[1-9][0-9]*)(?P<suffix>[uUlL]*)")
_MOST = 2**31 - 1
"""Largest value of a step: every integer type of C++ can hold it, so the literal's type stays."""


def whole(text: str) -> int | None:
    """Return the value of a decimal or hexadecimal C++ integer literal.

    Return None for any other text, for example ``1.5`` or the octal ``017``.
    """
    match = _WHOLE.fullmatch(text)
    return int(match["digits"], 0) if match else None


def steps(text: str) -> tuple[str, ...]:
    """Return the steps of an integer literal, without duplicates: ``"8u"`` gives 9u, 7u, 16u, 4u.

    The steps keep the literal's base and suffix. Negative numbers and the literal's own value are
    left out. A text that is not an integer literal has no steps.
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
    """Return the steps of several literals, sorted by value, keyed by names such as ``num_K32``.

    Args:
        prefix: first part of the names, for example ``num``.
        texts: the literals.
    """
    found = {step for text in texts for step in steps(text)}
    return {f"{prefix}_K{step}": step for step in sorted(found, key=lambda one: (whole(one), one))}
