"""What the name of a number says of it: how much data there is, or how they are gone through."""

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


def is_count_name(name: str, *, compared: bool) -> bool:
    """Whether a scalar of this name says how much data there is."""
    if _NOT_COUNT.fullmatch(name):
        return False
    return compared or _COUNT.fullmatch(name) is not None
