"""Proposed buffers of a target: arguments and variables of a kernel, and their contents."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from gi_cuda.grammar.frontends.cuda.declarations.element_types import Element
from gi_cuda.init.kernel.access import UNKNOWN, Access
from gi_cuda.init.kernel.sizes import bracketed


@dataclass(frozen=True, slots=True)
class Fill:
    """Range of the random numbers of a case.

    Attributes:
        low: smallest number.
        high: upper bound, not included. If the range has a single integer, all numbers are equal.
        rising: the numbers are cumulative sums of random numbers in the range.
    """

    low: int
    high: int
    rising: bool = False


@dataclass(frozen=True, slots=True)
class Notes:
    """Comments on the keys of a buffer, "" for none.

    Attributes:
        data: comment on its data in data.py.
    """

    size: str = ""
    role: str = ""
    data: str = ""


SMALL_ACCURACY = {"float8_e5m2": 0.25, "float8_e4m3": 0.125, "bfloat16": 2e-2, "float16": 1e-2}
"""Relative tolerance of small floating-point types, the least accurate first."""


def accuracy(types: Sequence[str]) -> float:
    """Return the relative tolerance of the least accurate of some types."""
    known = [off for kind, off in SMALL_ACCURACY.items() if kind in types]
    if known:
        return known[0]
    return 1e-4 if "float32" in types else 1e-9


MOST = 100
"""Upper bound of random integers of unknown meaning."""

OFFSETS = Fill(0, 17, rising=True)
"""Offsets of rows with 0 to 16 items each."""

SEEN = "as it was seen"
"""Note of an image whose properties were observed in a run."""


@dataclass(frozen=True, slots=True)
class Image:
    """Properties of a texture or surface over a buffer.

    Attributes:
        dimensions: 1 to 3; 0 for linear memory.
        layered: True if there are layers.
        size, layers: expressions; empty until they are known.
        filter, address, normalized, as_float: as in a target's texture.
        note: source of the properties; "" if they are assumed.
    """

    surface: bool = False
    dimensions: int = 0
    layered: bool = False
    size: tuple[str, ...] = ()
    layers: str | None = None
    filter: str = "point"
    address: tuple[str, ...] = ("clamp",)
    normalized: bool = False
    as_float: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class ProposedBuffer:
    """An array that the kernel takes, or a variable of the source that it uses.

    Attributes:
        role: as in ``target.toml``.
        access: how the kernel uses it.
        shown: its declaration, for comments.
        elements: number of items from the kernel's pointer on, as the source says; None if unknown.
        symbol: the variable's name.
        texture: the kernel's texture or surface parameter over it.
        image: properties of that texture or surface.
        fill: range of its random numbers; None for the usual range of the type.
        begin: number of items before the kernel's pointer; "" for none.
        grown: its elements before they were increased because they were too few; "" if they were
            not.
        whole: its items in the source, if it has fewer in cases with fewer blocks; else "".
        notes: comments.
        addresses: buffers that its items point into, each with the pointer's offset in an item.
        const: the source declares that nothing is written to it.
        copied: host code sets the variable.
        magnitude: size of the numbers that the kernel writes; None for usual sizes.
        into: the buffer that its numbers are indices into; "" if they are not indices.
    """

    name: str
    element: Element
    role: str
    access: Access
    shown: str
    elements: str | None = None
    symbol: str | None = None
    texture: str | None = None
    image: Image | None = None
    fill: Fill | None = None
    begin: str = ""
    grown: str = ""
    whole: str = ""
    notes: Notes = field(default_factory=Notes)
    addresses: tuple[tuple[str, int], ...] = ()
    const: bool = False
    copied: bool = False
    magnitude: float | None = None
    into: str = ""

    @property
    def accuracy(self) -> float:
        """Return the relative tolerance of its numbers."""
        return accuracy([self.element.type])

    @property
    def allowance(self) -> float:
        """Return the absolute tolerance of its numbers.

        It is the accuracy of the type, scaled to a power of ten by the magnitude of small numbers.
        """
        if self.magnitude is None:
            return self.accuracy
        return float(f"1e{math.floor(math.log10(self.magnitude * self.accuracy))}")

    @property
    def is_whole(self) -> bool:
        """Tell whether its items are integers, ``bool`` excluded."""
        element = self.element
        plain = element.parts == 1 and not element.fields and not element.truth
        return plain and element.type.removeprefix("u").startswith("int")

    def with_data(self, fill: Fill, note: str) -> ProposedBuffer:
        """Return the buffer with a range of random numbers, and a comment."""
        return replace(self, fill=fill, notes=replace(self.notes, data=note))

    def leading_into(self, array: str) -> ProposedBuffer:
        """Return the buffer with indices of another buffer's items as its data."""
        return replace(self, into=array, notes=replace(self.notes, data=f"places in {array}"))

    def ahead(self, counts: Sequence[str]) -> str:
        """Return the number of items from the kernel's pointer on.

        Args:
            counts: scalars whose product is assumed if the source does not tell.
        """
        return self.elements or " * ".join(counts) or "1"

    def items(self, counts: Sequence[str]) -> str:
        """Return the number of all items."""
        ahead = self.ahead(counts)
        return f"{ahead} + {bracketed(self.begin)}" if self.begin else ahead


def role_of(access: Access) -> str:
    """Return the role of a buffer that a kernel accesses in this way."""
    if access in (Access.NONE, Access.READ):
        return "input"
    return "output" if access is Access.WRITE else "inout"


def judged(
    buffers: Sequence[ProposedBuffer], symbols: Sequence[ProposedBuffer]
) -> tuple[ProposedBuffer, ...]:
    """Return all buffers; if no write is visible, all that the kernel might write become outputs.

    A trial run then tells which of them it writes.
    """
    every = (*buffers, *symbols)
    if any(one.role in ("output", "inout") for one in every):
        return every
    free = [one for one in buffers if not one.const and not one.texture]
    return tuple(replace(b, role="inout", access=UNKNOWN) if b in free else b for b in every)


def of_pointer(
    name: str, element: Element, access: Access, shown: str, *, const: bool
) -> ProposedBuffer:
    """Return the buffer behind a pointer.

    Args:
        access: how the kernel uses it.
        const: True if nothing is written through the pointer.
    """
    access = Access.READ if const else access
    return ProposedBuffer(name, element, role_of(access), access, shown, const=const)


def smooth(buffers: Iterable[ProposedBuffer]) -> list[ProposedBuffer]:
    """Return the outputs that hold nothing but floating-point numbers."""
    judged = [one for one in buffers if one.role in ("output", "inout")]
    return [one for one in judged if one.element.floating and not one.element.fields]
