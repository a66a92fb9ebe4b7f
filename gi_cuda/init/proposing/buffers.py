"""Buffers of a target: what a kernel gets or uses, and how."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from gi_cuda.grammar.frontends.cuda.element_types import Element
from gi_cuda.init.kernel.access import UNKNOWN, Access
from gi_cuda.init.kernel.sizes import bracketed


@dataclass(frozen=True, slots=True)
class Fill:
    """Random numbers of a case.

    Attributes:
        low, high: none below, all below this. If there is but one whole number, all are that.
        rising: whether they are the steps from each to the next one.
    """

    low: int
    high: int
    rising: bool = False


@dataclass(frozen=True, slots=True)
class Notes:
    """What is said behind the keys of a buffer, "" where nothing is.

    Attributes:
        data: behind what its data are made of.
    """

    size: str = ""
    role: str = ""
    data: str = ""


SMALL_ACCURACY = {"float8_e5m2": 0.25, "float8_e4m3": 0.125, "bfloat16": 2e-2, "float16": 1e-2}
"""The least accurate first."""


def accuracy(types: Sequence[str]) -> float:
    """How far numbers of the least accurate of these types may be off."""
    known = [off for kind, off in SMALL_ACCURACY.items() if kind in types]
    if known:
        return known[0]
    return 1e-4 if "float32" in types else 1e-9


MOST = 100
"""Below which whole numbers are, where nothing says what they are for."""

OFFSETS = Fill(0, 17, rising=True)
"""Where rows of some items each begin; some are empty."""

SEEN = "as it was seen"
"""Where an image is from that a run told of."""


@dataclass(frozen=True, slots=True)
class Image:
    """What a texture or surface over a buffer is.

    Attributes:
        dimensions: 0 for linear memory.
        layered: whether there are layers.
        size, layers: expressions; none before they are known.
        filter, address, normalized, as_float: as a target's texture has them.
        note: where they are from; "" where nothing said.
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
    """An array that the kernel gets, or a variable of the source that it uses.

    Attributes:
        role: as in ``target.toml``.
        access: how the kernel uses it.
        elements: how many items it has from the one on that the kernel's pointer points to, as
            the source says; None where it does not.
        symbol: the variable's name.
        texture: name of the kernel's parameter that is a texture or surface over it.
        image: what that is.
        fill: what a case's numbers are; None: what is usual for the type.
        begin: how many items it has before that; "" for none.
        grown: what its elements were at first, where they were too few; "" where they were not.
        whole: how many items the source gives it, where it has fewer with fewer blocks; else "".
        notes: what was found out about it.
        addresses: buffers into which its items point, and at which byte of an item.
        const: whether the source says that nothing is written to it.
        copied: whether host code sets the variable.
        magnitude: how large real numbers are that the kernel writes; None where that is as usual.
        into: the buffer whose items its numbers are the places of; "" where they are of none.
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
        """How far real numbers of its type may be off, relative to themselves."""
        return accuracy([self.element.type])

    @property
    def allowance(self) -> float:
        """How far real numbers of it may be off, however small they are: the accuracy of their
        type, scaled to a power of ten by the magnitude of numbers that are known to be small."""
        if self.magnitude is None:
            return self.accuracy
        return float(f"1e{math.floor(math.log10(self.magnitude * self.accuracy))}")

    @property
    def is_whole(self) -> bool:
        """Whether its items are whole numbers, and no ``bool``."""
        element = self.element
        plain = element.parts == 1 and not element.fields and not element.truth
        return plain and element.type.removeprefix("u").startswith("int")

    def with_data(self, fill: Fill, note: str) -> ProposedBuffer:
        """With such numbers, and why."""
        return replace(self, fill=fill, notes=replace(self.notes, data=note))

    def leading_into(self, array: str) -> ProposedBuffer:
        """With numbers that are places of another one's items."""
        return replace(self, into=array, notes=replace(self.notes, data=f"places in {array}"))

    def ahead(self, counts: Sequence[str]) -> str:
        """How many items it has from where the kernel's pointer points.

        Args:
            counts: names that say how much there is, where the source does not.
        """
        return self.elements or " * ".join(counts) or "1"

    def items(self, counts: Sequence[str]) -> str:
        """How many items it has in all."""
        ahead = self.ahead(counts)
        return f"{ahead} + {bracketed(self.begin)}" if self.begin else ahead


def role_of(access: Access) -> str:
    """The role of a buffer that a kernel uses like this."""
    if access in (Access.NONE, Access.READ):
        return "input"
    return "output" if access is Access.WRITE else "inout"


def judged(
    buffers: Sequence[ProposedBuffer], symbols: Sequence[ProposedBuffer]
) -> tuple[ProposedBuffer, ...]:
    """All buffers. Where no write is to be seen, whatever the kernel may write to is an output:
    running tells."""
    every = (*buffers, *symbols)
    if any(one.role in ("output", "inout") for one in every):
        return every
    free = [one for one in buffers if not one.const and not one.texture]
    return tuple(replace(b, role="inout", access=UNKNOWN) if b in free else b for b in every)


def of_pointer(
    name: str, element: Element, access: Access, shown: str, *, const: bool
) -> ProposedBuffer:
    """The buffer that a pointer points to.

    Args:
        access: how the kernel uses it.
        const: whether nothing is written through it.
    """
    access = Access.READ if const else access
    return ProposedBuffer(name, element, role_of(access), access, shown, const=const)


def smooth(buffers: Iterable[ProposedBuffer]) -> list[ProposedBuffer]:
    """Those that are judged and hold real numbers, and nothing else."""
    judged = [one for one in buffers if one.role in ("output", "inout")]
    return [one for one in judged if one.element.floating and not one.element.fields]
