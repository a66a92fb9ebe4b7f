"""Numbers that go with others: the pitch of rows with their width, sizes with their product."""

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
"""Bytes of the largest item of a row, which a pitch in bytes has room for."""


def consistent(
    scalars: Sequence[ProposedScalar], counting: Sequence[str], body: str
) -> tuple[ProposedScalar, ...]:
    """The scalars; what says how far rows are apart is computed from the number that says how long
    they are.

    Args:
        counting: names of those that say how much data there is.
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
    """Whether a scalar says how far rows are apart: nothing is divided by that."""
    divides = re.search(rf"[/%]\s*{re.escape(scalar.written)}\b", body)
    return _PITCH.fullmatch(scalar.meaning) is not None and divides is None


def _width(pitch: ProposedScalar, counts: Sequence[ProposedScalar]) -> str | None:
    """The number that says how long a row is: that of the same struct, or the kernel's."""
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
    """The buffers; those of a struct that says how much data there is have so many items.

    Args:
        counting: names of the scalars that say so, or did before others were computed from them.
    """
    values = {one.name: one.computed or one.name for one in scalars if one.name in counting}
    sizes: dict[str, str] = {}
    for struct in structs:
        own = [values[name] for name, _ in struct.members if name in values]
        sizes |= {name: " * ".join(own) for name, _ in struct.members if own}
    return tuple(replace(b, elements=b.elements or sizes.get(b.name)) for b in buffers)


def of_counts(items: str, values: Mapping[str, int | float]) -> str:
    """How many items there are, with the one count whose value a product of plain numbers in it is
    in place of these: host code may compute that count of constants by which it allocates.

    Args:
        items: the text that says so; what is no plain product stays as it is.
        values: what host code has for the counts.
    """
    number, names = _product(items)
    found = [name for name, value in values.items() if value == number]
    # A small number is the same as another one by chance.
    if len(found) != 1 or found[0] in names or is_few(values, found[0]):
        return items
    return " * ".join([*found, *names])


def _product(items: str) -> tuple[int, list[str]]:
    """The product of the plain numbers in a product, and its names; of anything else, 0."""
    factors = [one.strip() for one in items.split("*")]
    numbers = [int(one) for one in factors if one.isdecimal()]
    names = [one for one in factors if not one.isdecimal()]
    plain = bool(numbers) and all(map(str.isidentifier, names))
    return math.prod(numbers) if plain else 0, names
