"""Structs that a kernel takes by value, taken apart into what a target puts them together of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gi_cuda.grammar.frontends.cuda.element_types import SMALL_FLOATS, Element
from gi_cuda.init.kernel.access import UNKNOWN, Access, accesses, member_accesses
from gi_cuda.init.proposing.buffers import ProposedBuffer, of_pointer
from gi_cuda.init.proposing.shapes import element_of, has_addresses
from gi_cuda.init.source.layouts import Shape
from gi_cuda.init.source.sources import Chosen
from gi_cuda.spec.numbers import NumberType
from gi_cuda.spec.usual import MOST_USUAL

_FOLLOWED = 1
"""Pointers to pointers that are followed, from the first one on."""

_MOST = 64
"""Members that are no numbers, in arrays of a struct, each of which is named."""


@dataclass(frozen=True, slots=True)
class ProposedScalar:
    """A value that the kernel gets.

    Attributes:
        value: what it is where it does not say how much data there is.
        source: whether the host code says so.
        computed: how the host code computes it from other scalars, if it does.
        count: values, one behind the other, in an array that a struct holds.
        member: where it is part of a struct, how one writes it: ``image.width``.
        note: what was found out about its value.
        varied: whether cases have others than that: real ones up to a quarter more or less, whole
            ones one more in every other case.
    """

    name: str
    element: Element
    value: int | float
    source: bool
    computed: str | None = None
    count: int = 1
    member: str = ""
    note: str = ""
    varied: bool = False

    @property
    def meaning(self) -> str:
        """The name that says what it is: of ``size.x`` that is ``size``."""
        parts = [part for part in self.member.split(".") if part not in ("", *"xyzw")]
        return parts[-1].partition("[")[0] if parts else self.name

    @property
    def usual(self) -> int | None:
        """The small integer that the host code passes in all launches; None where none is known."""
        known = (
            self.source and not (self.varied or self.member or self.computed) and self.count == 1
        )
        small = isinstance(self.value, int) and 0 <= self.value <= MOST_USUAL
        whole = known and small and not self.element.floating
        return int(self.value) if whole else None

    @property
    def written(self) -> str:
        """What stands for it in the kernel's text."""
        return self.member or self.name

    @classmethod
    def guessed(
        cls, name: str, element: Element, count: int = 1, member: str = ""
    ) -> ProposedScalar:
        """One of which nothing is known."""
        small = 0.5 if element.floating else 1 if element.truth else 2
        return cls(name, element, small, source=False, count=count, member=member)


def set_apart(scalars: Sequence[ProposedScalar]) -> tuple[ProposedScalar, ...]:
    """Scalars of which no two real ones are the same by being guessed: whatever takes one for
    another is wrong then."""
    guesses = [s for s in scalars if s.element.floating and not s.source and s.computed is None]
    values = {s.name: round(s.value + 0.1 * (n % 5) + 0.01 * n, 2) for n, s in enumerate(guesses)}
    return tuple(replace(s, value=values.get(s.name, s.value)) for s in scalars)


@dataclass(frozen=True, slots=True)
class ProposedStruct:
    """A struct or vector that a kernel gets by value.

    Attributes:
        kind: as C++ has it.
        size, align: bytes.
        members: names of scalars and buffers, and at which byte each begins.
    """

    name: str
    kind: str
    size: int
    align: int
    members: tuple[tuple[str, int], ...]

    def renamed(self, names: Mapping[str, str]) -> ProposedStruct:
        """The same where some things have other names."""
        members = tuple((names.get(name, name), at) for name, at in self.members)
        return replace(self, name=names.get(self.name, self.name), members=members)


def written_members(
    structs: Sequence[ProposedStruct], scalars: Sequence[ProposedScalar]
) -> dict[str, dict[str, str]]:
    """For each struct, how one writes a member behind its name, and the scalar that it is."""
    written = {one.name: one.member for one in scalars if one.member}
    return {
        struct.name: {
            written[name][len(struct.name) :]: name for name, _ in struct.members if name in written
        }
        for struct in structs
    }


@dataclass(frozen=True, slots=True)
class Parts:
    """A struct, and the scalars and buffers that it is put together of."""

    struct: ProposedStruct
    scalars: tuple[ProposedScalar, ...]
    buffers: tuple[ProposedBuffer, ...]


def take_apart(source: Chosen, name: str, shape: Shape, taken: set[str]) -> Parts | None:
    """What a kernel's parameter is put together of; None where no target can do that.

    Args:
        taken: names that are in use; those of the parts are added.
    """
    members, scalars, buffers = [], [], []
    for path, at, one in _leaves(shape, "", 0):
        own = _free(f"{name}_{_joined(path)}", taken)
        if one.kind == "pointer":
            buffers += pointed(source, own, f"{name}.{path}", one, taken)
        elif (count := _values(one)) is not None:
            element, number = count
            scalars.append(ProposedScalar.guessed(own, element, number, f"{name}.{path}"))
        elif one.kind == "function":
            return None
        else:
            continue
        members.append((own, at))
    struct = ProposedStruct(name, shape.name, max(1, shape.size), shape.align, tuple(members))
    return Parts(struct, tuple(scalars), tuple(buffers))


def _leaves(shape: Shape, path: str, at: int) -> Iterator[tuple[str, int, Shape]]:
    """The parts of a type that are no structs: how one names each, its first byte, its type."""
    if shape.kind == "struct" and shape.name not in SMALL_FLOATS:
        for member, offset, inner in shape.members:
            yield from _leaves(inner, f"{path}.{member}".lstrip("."), at + offset)
    elif shape.kind == "array" and _values(shape) is None and shape.inner is not None:
        size = max(1, shape.inner.size)
        for index in range(min(_MOST, shape.size // size)):
            yield from _leaves(shape.inner, f"{path}[{index}]", at + index * size)
    else:
        yield path, at, shape


def _values(shape: Shape) -> tuple[Element, int] | None:
    """What numbers a part of a struct is, and how many of them."""
    if shape.kind == "number":
        return Element(shape.name, truth=shape.truth), 1
    if shape.name in SMALL_FLOATS:
        return Element(NumberType(SMALL_FLOATS[shape.name]).dtype.name), 1
    if shape.kind == "array" and shape.inner is not None:
        inner = _values(shape.inner)
        return None if inner is None else (inner[0], inner[1] * (shape.size // shape.inner.size))
    return None


def pointed(
    source: Chosen, name: str, written: str, shape: Shape, taken: set[str], depth: int = 0
) -> list[ProposedBuffer]:
    """The buffer that a pointer points to, and those into which what lies there points.

    Args:
        name: of the first.
        written: how the kernel's text names the pointer.
        taken: names that are in use; those of further buffers are added.
    """
    access = _access(source, written)
    inner = shape.inner
    buffer = of_pointer(name, element_of(inner), access, f"pointer {written}", const=shape.const)
    if inner is None or depth > _FOLLOWED or not has_addresses(inner):
        return [buffer]

    def whole(path: str) -> str:
        return f"{written}->{path}" if path else f"{written}[]"

    places, found = behind(source, name, inner, whole, taken, depth + 1)
    # What kernels write to is at the end of pointers; the pointers are set by the case.
    first = replace(buffer, role="input" if places else buffer.role, addresses=places)
    return [first, *found]


def behind(
    source: Chosen,
    name: str,
    item: Shape,
    written: Callable[[str], str],
    taken: set[str],
    depth: int = 0,
) -> tuple[tuple[tuple[str, int], ...], list[ProposedBuffer]]:
    """The buffers into which the pointers of an item in memory lead: the first one of each and at
    which byte of the item its pointer is, and all there are.

    Args:
        name: of what holds the item.
        written: how the kernel's text names a member of the item; for "", the item itself.
        taken: as of :func:`pointed`.
    """
    found, places = [], []
    for path, at, one in _leaves(item, "", 0):
        leads_to = "" if one.inner is None else one.inner.name
        if one.kind != "pointer" or leads_to == item.name != "":
            continue  # lists and trees end at once
        own_name = _free(f"{name}_{_joined(path) or 'data'}", taken)
        found += pointed(source, own_name, written(path), one, taken, depth)
        places.append((own_name, at))
    return tuple(places), found


def _access(source: Chosen, written: str) -> Access:
    """How device code uses what a pointer leads to, of which nothing is known where the pointer
    goes to a function with its struct, or to one of its own methods."""
    whole = re.split(r"\.|->|\[", written)[0]
    function = source.kernel.definition
    access = accesses(source.code, function, whole)
    if written == whole:
        return access
    own = member_accesses(source.code, function, written.partition("[")[0])
    return own if own is not Access.NONE or access is Access.NONE else UNKNOWN


def _joined(path: str) -> str:
    return re.sub(r"\W+", "_", path).strip("_")


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name
