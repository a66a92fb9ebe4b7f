"""Split structs that a kernel takes by value into scalars and buffers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gi_cuda.grammar.frontends.cuda.declarations.element_types import SMALL_FLOATS, Element
from gi_cuda.init.kernel.access import UNKNOWN, Access, accesses, member_accesses
from gi_cuda.init.proposing.buffers import ProposedBuffer, of_pointer
from gi_cuda.init.proposing.shapes import element_of, has_addresses
from gi_cuda.init.source.layouts import Shape
from gi_cuda.init.source.sources import Chosen
from gi_cuda.spec.launching.usual import MOST_USUAL
from gi_cuda.spec.numbers import NumberType

_FOLLOWED = 1
"""Largest depth of pointers in memory that are followed."""

_MOST = 64
"""Largest number of elements, of arrays of structs or pointers in a struct, that are named."""


@dataclass(frozen=True, slots=True)
class ProposedScalar:
    """A scalar argument of the kernel.

    Attributes:
        value: its value in all cases, unless it is an amount of data.
        source: True if the value comes from the host code.
        computed: the expression by which the host code computes it from other scalars, if it does.
        count: number of consecutive values, for an array in a struct.
        member: the member of a struct that it is, as the code writes it: ``image.width``.
        note: remark on its value.
        varied: True if the value differs between cases: floating-point values by up to a quarter,
            integers by one in every other case.
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
        """Return the name that tells its meaning: ``size`` for ``size.x``."""
        parts = [part for part in self.member.split(".") if part not in ("", *"xyzw")]
        return parts[-1].partition("[")[0] if parts else self.name

    @property
    def usual(self) -> int | None:
        """Return the small integer that the host code passes in all launches; None if there is
        none.
        """
        known = (
            self.source and not (self.varied or self.member or self.computed) and self.count == 1
        )
        small = isinstance(self.value, int) and 0 <= self.value <= MOST_USUAL
        whole = known and small and not self.element.floating
        return int(self.value) if whole else None

    @property
    def written(self) -> str:
        """Return the kernel's expression for it."""
        return self.member or self.name

    @classmethod
    def guessed(
        cls, name: str, element: Element, count: int = 1, member: str = ""
    ) -> ProposedScalar:
        """Return a scalar of unknown value."""
        small = 0.5 if element.floating else 1 if element.truth else 2
        return cls(name, element, small, source=False, count=count, member=member)


def set_apart(scalars: Sequence[ProposedScalar]) -> tuple[ProposedScalar, ...]:
    """Give guessed floating-point scalars distinct values, so that confusing two is detected."""
    guesses = [s for s in scalars if s.element.floating and not s.source and s.computed is None]
    values = {s.name: round(s.value + 0.1 * (n % 5) + 0.01 * n, 2) for n, s in enumerate(guesses)}
    return tuple(replace(s, value=values.get(s.name, s.value)) for s in scalars)


@dataclass(frozen=True, slots=True)
class ProposedStruct:
    """A struct or vector that a kernel takes by value.

    Attributes:
        kind: its type in C++.
        size, align: bytes.
        members: names of scalars and buffers, each with the offset of its first byte.
    """

    name: str
    kind: str
    size: int
    align: int
    members: tuple[tuple[str, int], ...]

    def renamed(self, names: Mapping[str, str]) -> ProposedStruct:
        """Return the struct with names replaced."""
        members = tuple((names.get(name, name), at) for name, at in self.members)
        return replace(self, name=names.get(self.name, self.name), members=members)


def written_members(
    structs: Sequence[ProposedStruct], scalars: Sequence[ProposedScalar]
) -> dict[str, dict[str, str]]:
    """Return, for each struct, the scalar of each member, with keys such as ``.width``."""
    written = {one.name: one.member for one in scalars if one.member}
    return {
        struct.name: {
            written[name][len(struct.name) :]: name for name, _ in struct.members if name in written
        }
        for struct in structs
    }


@dataclass(frozen=True, slots=True)
class Parts:
    """A struct, and the scalars and buffers that it consists of."""

    struct: ProposedStruct
    scalars: tuple[ProposedScalar, ...]
    buffers: tuple[ProposedBuffer, ...]


def take_apart(source: Chosen, name: str, shape: Shape, taken: set[str]) -> Parts | None:
    """Split a kernel's parameter into members; None if it contains a function pointer.

    Args:
        taken: names that are in use; the names of the members are added.
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
    """Yield the members of a type that are not structs: path, offset of the first byte, type."""
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
    """Return the element type and the number of values of a member; None if it is not numbers."""
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
    """Return the buffer behind a pointer, and the buffers behind pointers in that buffer.

    Args:
        name: name of the first buffer.
        written: the kernel's expression for the pointer.
        taken: names that are in use; the names of further buffers are added.
        depth: number of pointers that were followed to this one.
    """
    access = _access(source, written)
    inner = shape.inner
    buffer = of_pointer(name, element_of(inner), access, f"pointer {written}", const=shape.const)
    if inner is None or depth > _FOLLOWED or not has_addresses(inner):
        return [buffer]

    def whole(path: str) -> str:
        return f"{written}->{path}" if path else f"{written}[]"

    places, found = behind(source, name, inner, whole, taken, depth + 1)
    # The case sets the pointers; kernels write to the buffers behind these only.
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
    """Return the buffers behind the pointers of an item in memory.

    Args:
        name: name of the buffer that holds the item.
        written: returns the kernel's expression for a member of the item; for "", for the item.
        taken: names that are in use; the names of further buffers are added.
        depth: number of pointers that were followed to the item.

    Returns:
        For each pointer its buffer's name and its offset in the item, and all buffers found.
    """
    found, places = [], []
    for path, at, one in _leaves(item, "", 0):
        leads_to = "" if one.inner is None else one.inner.name
        if one.kind != "pointer" or leads_to == item.name != "":
            continue  # linked lists and trees have no further nodes
        own_name = _free(f"{name}_{_joined(path) or 'data'}", taken)
        found += pointed(source, own_name, written(path), one, taken, depth)
        places.append((own_name, at))
    return tuple(places), found


def _access(source: Chosen, written: str) -> Access:
    """Return how device code accesses the memory behind a pointer.

    It is unknown if the pointer's struct is passed to a function, or one of its methods is called.
    """
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
