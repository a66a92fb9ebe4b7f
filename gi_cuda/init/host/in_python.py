"""Translate C expressions of sizes to Python."""

from __future__ import annotations

import keyword
import re

from gi_cuda.spec.expression import ExpressionError

_IN_DATA = ("np", "rng", "seed", "case", "random_items", "dict", "object", "int")
_PLAIN = re.compile(r"(?:[A-Za-z_]\w*|(?:0|[1-9]\d*)(?!\w)|[\s()+*/%-])*")
_APPLIED = re.compile(r"\w\s*\(|\)\s*[\w(]")
"""A call or a cast."""


def python_name(name: str) -> str:
    """Return a name for data.py: with a ``_`` appended if it is a keyword or already used there."""
    taken = keyword.iskeyword(name) or name in _IN_DATA
    return f"{name}_" if taken else name


def is_plain(text: str) -> bool:
    """Tell whether an expression has nothing but names, decimal numbers and ``+ - * / %``."""
    return _PLAIN.fullmatch(text) is not None and _APPLIED.search(text) is None


def in_python(text: str) -> str:
    """Translate a C expression of sizes, which are never negative, to Python (``/`` to ``//``).

    Raises:
        ExpressionError: the expression is not plain; see `is_plain`.
    """
    if not is_plain(text):
        raise ExpressionError("no sum or product of sizes", text)
    return re.sub(r"[A-Za-z_]\w*", lambda m: python_name(m[0]), text).replace("/", "//")
