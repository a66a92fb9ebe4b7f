"""Vector accesses: each thread handles consecutive items, loaded and stored together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite, Site
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import (
    Access,
    Pointer,
    Use,
    accesses,
    certain,
    pointers,
    sequence,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.per_item.elementwise import (
    Elementwise,
    read_elementwise,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.per_item.heads import read_head
from gi_cuda.grammar.frontends.cuda.transforms.writing.vector_text import Array, vector_text
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.values import RANKS, Type

_NATIVE = {
    "float": (4, "float"),
    "double": (8, "double"),
    "int": (4, "int"),
    "unsigned int": (4, "uint"),
    "short": (2, "short"),
    "unsigned short": (2, "ushort"),
    "char": (1, "char"),
    "signed char": (1, "char"),
    "unsigned char": (1, "uchar"),
    "long": (8, "long"),
    "unsigned long": (8, "ulong"),
    "long long": (8, "longlong"),
    "unsigned long long": (8, "ulonglong"),
    "bool": (1, ""),
    "half": (2, ""),
    "__half": (2, ""),
    "nv_bfloat16": (2, ""),
    "__nv_bfloat16": (2, ""),
    "half2": (4, ""),
    "__half2": (4, ""),
    "float2": (8, ""),
    "int2": (8, ""),
    "uint2": (8, ""),
}
"""Size of each element type in bytes, and the base name of its vector types.

The base name is "" if vectors of another type carry the bytes.
"""

_OF_CUDA = re.compile(r"\w*[a-z]\d|\w*(?:half|bfloat16|fp8|fp16)\w*")
"""Names of CUDA's vector types and of its 8-bit and 16-bit floating-point types."""
_DEFINITIONS = frozenset({"struct_specifier", "class_specifier", "union_specifier"})
_ALIAS = "type_definition"

_CARRIERS = {2: "unsigned short", 4: "unsigned int", 8: "uint2", 16: "uint4"}
_NARROWEST, _WIDEST = 4, 16
"""Bytes of the widest access of a thread."""
_MOST = 8
"""Elements of a type that only the compiler knows, in a structure that is a vector."""


class Vector(Family):
    """``<vector_kernel.cu_41><vector_K4>`` lets each thread handle four items, loaded and stored
    as one ``float4`` from each array.

    Before and after::

        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) {
            b[i] = 2 * a[i];
        }

        int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
        if (first + 3 < n && ((size_t)a | (size_t)b) % 16 == 0) {
            __align__(16) float a4[4], b4[4];
            *reinterpret_cast<float4 *>(a4) = *reinterpret_cast<const float4 *>(a + first);
            #pragma unroll
            for (int k = 0; k < 4; k++) {
                b4[k] = 2 * a4[k];
            }
            *reinterpret_cast<float4 *>(b + first) = *reinterpret_cast<const float4 *>(b4);
        } else {
            for (int i = first; i < n && i < first + 4; i++) {
                b[i] = 2 * a[i];
            }
        }

    An array is loaded if the work reads it before it writes it. Accesses that are not made in all
    cases (``if (i < m) x = c[i];``), and accesses of other elements, stay as they are. The grid is
    a quarter as wide; the answers are the same with the grid as it was.
    """

    type = RuleType.VECTOR

    def sites(self, code: Code) -> Iterator[Site]:
        """Return a site for each elementwise kernel with an array that vectors can access."""
        for kernel in code.kernels:
            choices = [one for one in self.type.kind.specials if _read(code, kernel, one)]
            if choices:
                yield Site(kernel.at, kernel.number, tuple(choices))

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Make the kernel handle several items in each thread."""
        kernel = code.function_at(at)
        read = None if kernel is None else _read(code, kernel, choice)
        if kernel is None or read is None:
            return None
        work, arrays = read
        count = _count(choice)
        splices = vector_text(code, kernel, work, arrays, count)
        return Rewrite(tuple(splices), {f"{kernel.name}.items.x": count})


def _count(choice: str) -> int:
    """Return the items of a thread that a donor such as ``vector_K4`` stands for."""
    return int(choice.rpartition("K")[2])


def _read(code: Code, kernel: Function, choice: str) -> tuple[Elementwise, Sequence[Array]] | None:
    """Read a kernel, and find the arrays that it can access as vectors of so many items."""
    work = read_elementwise(code, kernel)
    if work is None or not has_index_type(code, kernel, work):
        return None
    count, arrays = _count(choice), []
    for pointer in pointers(code, kernel):
        found = accesses(code, kernel.body, pointer.name) if pointer.parameter else None
        own = [one for one in found or () if _is_own(work, one)]
        one = array_of(code, kernel, work, pointer, pointer.name, own, found or (), count)
        if one is not None:
            arrays.append(one)
    return (work, arrays) if is_a_vector(arrays) else None


def vector_of(type_: Type | None, count: int) -> tuple[str, int]:
    """Return the type of a vector of so many elements, and its bytes; "" where none can be accessed
    at once, or an access of it gains nothing."""
    vector, width = _vector_of(type_, count)
    return (vector, width) if _NARROWEST <= width <= _WIDEST else ("", 0)


def _vector_of(type_: Type | None, count: int) -> tuple[str, int]:
    if type_ is None or type_.levels or type_.base not in _NATIVE:
        return "", 0
    size, name = _NATIVE[type_.base]
    width = size * count
    return f"{name}{count}" if name and count <= 4 else _CARRIERS.get(width, ""), width


def is_a_vector(arrays: Sequence[Array]) -> bool:
    """Tell whether a vector of one of some arrays can be accessed at once, and gains by it."""
    widest = max((one.width for one in arrays), default=-1)
    return _NARROWEST <= widest <= _WIDEST or (widest == 0 and len(arrays) > 0)


def array_of(
    code: Code,
    kernel: Function,
    work: Elementwise,
    pointer: Pointer,
    begin: str,
    own: Sequence[Access],
    found: Sequence[Access],
    count: int,
) -> Array | None:
    """Read the array behind a pointer.

    Args:
        begin: where the items' elements begin.
        own: the accesses of an item's element.
        found: all accesses through the pointer.
        count: items that are handled at a time.

    Returns:
        None if the work does not access the item's element in all cases, or if the kernel writes
        the array and accesses other elements of it too.
    """
    type_ = code.type(own[0].element, kernel) if own else None
    given = count <= _MOST and _is_named(code, kernel, pointer.spelled)
    if not own or not (given or (type_ and not type_.levels and type_.base in _NATIVE)):
        return None
    written = not pointer.const and any(one.use is not Use.READ for one in found)
    if written and len(own) < len(found):
        return None
    if any("\n" in code.span(one.node) for one in own) or not _sure(work, own):
        return None
    vector, width = ("", 0) if given else _vector_of(type_, count)
    return Array(
        pointer.name,
        begin,
        pointer.spelled,
        vector,
        width,
        tuple(one.node for one in own),
        loaded=not written or _read_first(work, own),
        stored=written,
    )


def _is_named(code: Code, kernel: Function, element: str) -> bool:
    """Tell whether a type is a template's, or a name that the source does not define, mostly that
    of a number: ``DTYPE``, ``typename V::value_type``."""
    head = read_head(code, kernel)
    if head is not None and element in head.templates:
        return True
    type_, name = code.spelled_type(element), element.rpartition(":")[2]
    known = type_ is not None and (type_.arithmetic or type_.pointer)
    return not known and not _OF_CUDA.fullmatch(name) and name not in _records(code)


@lru_cache(maxsize=64)
def _records(code: Code) -> frozenset[str]:
    """Return the names of structures that a source defines."""
    found = [one for one in descend(code.root) if one.type in _DEFINITIONS]
    named = [one.child_by_field_name("name") for one in found]
    above = [one.parent for one in found if one.parent is not None]
    named += [one.child_by_field_name("declarator") for one in above if one.type == _ALIAS]
    return frozenset(code.span(one) for one in named if one is not None)


def _is_own(work: Elementwise, access: Access) -> bool:
    """Tell whether the work, or a condition of the guard, accesses the item's element there."""
    return access.index == f"[{work.name}]" and any(
        one.start_byte <= access.node.start_byte and access.node.end_byte <= one.end_byte
        for one in (*work.work, *work.others)
    )


def _sure(work: Elementwise, own: Sequence[Access]) -> bool:
    """Tell whether one of the accesses is made for each item."""
    names = {one.node.id: "made" for one in own}
    if work.others:
        return bool(certain(work.others[0], names))
    return bool(sequence(work.work, names))


def _read_first(work: Elementwise, own: Sequence[Access]) -> bool:
    """Tell whether the work may read an element before it writes it, or not write it at all."""
    writes = {one.node.id: "made" for one in own if one.use is Use.WRITE}
    for number, one in enumerate(work.work):
        if work.others or not sequence(work.work[: number + 1], writes, loops=False):
            continue
        return any(
            access.use is not Use.WRITE and access.node.start_byte < one.end_byte for access in own
        )
    return True


def has_index_type(code: Code, kernel: Function, work: Elementwise) -> bool:
    """Tell whether the index is an integer of at least 32 bits."""
    type_ = work.index_type(code, kernel)
    return type_ is not None and type_.integral and type_.rank >= RANKS["int"]
