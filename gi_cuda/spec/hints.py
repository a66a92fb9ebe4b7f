"""Hints for users who wrote a name that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """A hint that offers what was probably meant, or else all there is."""
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"Did you mean {close[0]}?"
    return f"There is: {', '.join(known)}." if known else "There is none."
