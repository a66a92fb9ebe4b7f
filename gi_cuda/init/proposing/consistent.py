"""Make related values agree: the pitch of rows with their width, sizes with their product."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gi_cuda.init.kernel.sizes import is_few
from gi_cuda.init.proposing.buffers import ProposedBuffer
from gi_cuda.init.proposing.members import ProposedScalar, ProposedStruct

_PITCH = re.compile(r"(?i)\w*(?:pitch|stride)|ld[a-z]?|\w*_ld")
_WIDTH = re.compile(r"(?i)\w*width|w|\w*col(?:umn)?s?|nx|\w*_w|img_?w|size_?x|dim_?x|n")
_OF_BYTES = re.compile(r"\bchar\s*(?:const\s*)?\*")

_LARGEST = 16
"""Bytes of the largest item of a row; a pitch in bytes leaves room for items of this size."""


def consistent(
    scalars: Sequence[ProposedScalar], counting: Sequence[str], body: str
) -> tuple[ProposedScalar, ...]:
    """Return the scalars, with the pitch of rows computed from the row length.

    Args:
        counting: names of the scalars that say how much data there is.
        body: the kernel's text.
    """
    counts = [one for one in scalars if one.name in counting]
    fitting = []
    for one in scalars:
        free = one.computed is None and not one.source and one.count == 1
        width = _width(one, counts)
        if free and width and "int" in one.element.type and _is_pitch(one, body):
            wide = "pitch" in one.meaning.lower() and _OF_BYTES.search(body)
            text = f"{width} * {_LARGEST}" if wide else width
            one = replace(one, computed=text, note="assumed: rows without gaps")
        fitting.append(one)
    return tuple(fitting)


def _is_pitch(scalar: ProposedScalar, body: str) -> bool:
    """Tell whether a scalar is the distance between rows; the kernel never divides by a pitch."""
    divides = re.search(rf"[/%]\s*{re.escape(scalar.written)}\b", body)
    return _PITCH.fullmatch(scalar.meaning) is not None and divides is None


def _width(pitch: ProposedScalar, counts: Sequence[ProposedScalar]) -> str | None:
    """Return the name of the row length that belongs to a pitch: of its struct or the kernel."""
    whole = pitch.member.partition(".")[0]
    wide = [one for one in counts if _WIDTH.fullmatch(one.meaning)]
    near = [one.name for one in wide if whole and one.member.startswith(f"{whole}.")]
    own = [one.name for one in wide]
    return next(iter([*near, *own]), None)


def of_structs(
    structs: Sequence[ProposedStruct],
    buffers: Sequence[ProposedBuffer],
    scalars: Sequence[ProposedScalar],
    counting: Sequence[str],
) -> tuple[ProposedBuffer, ...]:
    """Return the buffers; a struct's own counts give the sizes of its buffers.

    Args:
        counting: names of the scalars that say how much data there is, before any was computed.
    """
    values = {one.name: one.computed or one.name for one in scalars if one.name in counting}
    sizes: dict[str, str] = {}
    for struct in structs:
        own = [values[name] for name, _ in struct.members if name in values]
        sizes |= {name: " * ".join(own) for name, _ in struct.members if own}
    return tuple(replace(b, elements=b.elements or sizes.get(b.name)) for b in buffers)


def of_counts(items: str, values: Mapping[str, int | float]) -> str:
    """Replace the constant factor of a size by the one scalar that has its value in host code.

    Host code may allocate by constants and pass their product as a scalar.

    Args:
        items: the size of a buffer; anything but a plain product is returned unchanged.
        values: values of the scalars in host code.
    """
    number, names = _product(items)
    found = [name for name, value in values.items() if value == number]
    # Small numbers may be equal by chance.
    if len(found) != 1 or found[0] in names or is_few(values, found[0]):
        return items
    return " * ".join([*found, *names])


def _product(items: str) -> tuple[int, list[str]]:
    """Return the product of the numbers in a product, and its names; 0 for any other expression."""
    factors = [one.strip() for one in items.split("*")]
    numbers = [int(one) for one in factors if one.isdecimal()]
    names = [one for one in factors if not one.isdecimal()]
    plain = bool(numbers) and all(map(str.isidentifier, names))
    return math.prod(numbers) if plain else 0, names
