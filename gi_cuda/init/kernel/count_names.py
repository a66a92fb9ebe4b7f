"""Classify scalars by name: amount of data, or shape of a window that slides over it."""

from __future__ import annotations

import re

_COUNT = re.compile(
    r"(?:[nmkNMKwhdWHDlL]|[nN](?:_\w+|[A-Z]\w*|[xyzijkXYZ])|num\w*|Num\w*|size\w*|\w*[sS]ize|len\w*"
    r"|\w*[lL]en(?:gth)?|count|\w*[a-z_][cC]ount|total\w*|width\w*|\w*[wW]idth|height\w*"
    r"|\w*[hH]eight|depth|rows?|cols?|columns?|[rc]ows?_?\w*|dim\w*|\w*_(?:n|num|rows|cols)"
    r"|batch\w*|elements|points|bodies|particles|cells|\w*_(?:total|max)|max_?n|NX|NY|NZ)"
)
_NOT_COUNT = re.compile(
    r"(?i).*(?:step|iter|radius|thresh|seed|offset|shift|stride|pitch|alpha|beta|gamma|index|idx"
    r"|round|pass|level|order|flag|mode|color|colour|lag|base|start|begin|block|thread|tile|bit|group"
    r"|type|kind|ratio).*"
)
_WINDOW = re.compile(
    r"(?i)(?:\w*_)?(?:pad(?:ding)?|stride|dilation|ksize|(?:kernel|filter)_?(?:size|width|height|[whd]))"
    r"(?:_?[whdxyz])?"
)
"""Names of padding, stride, dilation and size of a sliding window; these are no amounts of data."""


def is_count_name(name: str, *, compared: bool) -> bool:
    """Tell whether a scalar's name suggests an amount of data.

    Args:
        compared: the kernel compares the scalar, so that any name counts that is not excluded.
    """
    if _NOT_COUNT.fullmatch(name) or is_of_window(name):
        return False
    return compared or _COUNT.fullmatch(name) is not None


def is_of_window(name: str) -> bool:
    """Tell whether a scalar's name suggests the shape of a sliding window."""
    return _WINDOW.fullmatch(name) is not None
