"""The identifiers that functions and variables have in the source, from their symbols."""

from __future__ import annotations

import re

from gi_cuda.backends.cuda.compile.cubin import name_parts

_STATIC = re.compile(r"__nv_static_\d+__[0-9a-f]{8}_\d+_\w+?_[0-9a-f]{8}_(?P<rest>\w+)")
"""Names with internal linkage where nvcc makes them unique in a program."""

_MANGLED = re.compile(r"_ZL?(?P<size>\d+)(?P<rest>\w+)")


def plain_name(symbol: str) -> str:
    """The identifier of a function or variable, without namespaces, template arguments and types.

    >>> [plain_name(one) for one in ("scale", "_Z5scalePKiPii", "_ZN2v05scaleEPKiPii")]
    ['scale', 'scale', 'scale']
    """
    if static := _STATIC.fullmatch(symbol):
        return plain_name(static["rest"])
    if parts := name_parts(symbol):
        return parts[-1]
    if mangled := _MANGLED.fullmatch(symbol):
        return mangled["rest"][: int(mangled["size"])]
    return symbol
