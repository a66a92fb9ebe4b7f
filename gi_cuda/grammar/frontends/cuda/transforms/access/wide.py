"""Wide accesses in loops: a thread handles neighbouring items in each turn, loaded together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.transforms.access.vector import (
    array_of,
    has_index_type,
    is_a_vector,
)
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite, Site
from gi_cuda.grammar.frontends.cuda.transforms.reading.loops.consecutive import Offsets, read_turns
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import (
    Access,
    Pointer,
    accesses,
    pointers,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.per_item.elementwise import (
    Elementwise,
    read_elementwise,
)
from gi_cuda.grammar.frontends.cuda.transforms.writing.vector_text import Array, vector_text
from gi_cuda.grammar.rule_types import RuleType


class Wide(Family):
    """``<wide_kernel.cu_47><wide_K4>`` lets each turn of a loop handle four neighbouring items,
    loaded and stored as one ``float4`` from each array.

    Before and after::

        for (int j = threadIdx.x; j < n; j += blockDim.x) {
            sum += a[row * n + j];
        }

        for (int first = 4 * threadIdx.x; first < n; first += 4 * blockDim.x) {
            if (first + 3 < n && (size_t)(a + row * n) % 16 == 0) {
                __align__(16) float a4[4];
                *reinterpret_cast<float4 *>(a4) =
                    *reinterpret_cast<const float4 *>(a + row * n + first);
                #pragma unroll
                for (int k = 0; k < 4; k++) {
                    sum += a4[k];
                }
            } else {
                for (int j = first; j < n && j < first + 4; j++) {
                    sum += a[row * n + j];
                }
            }
        }

    A loop of one thread, ``for (int j = 0; j < n; j++)``, keeps the order of its items. Where
    threads share a loop, sums are added up in another order. An array whose elements have the
    type of a template is loaded as a structure of that many.
    """

    type = RuleType.WIDE

    def sites(self, code: Code) -> Iterator[Site]:
        """Find the loops with an array whose neighbouring elements can be loaded together."""
        for function in code.functions:
            for loop in _loops(code, function):
                specials = self.type.kind.specials
                choices = tuple(one for one in specials if _read(code, function, loop, one))
                if choices:
                    yield Site(loop.start_byte, function.number, choices)

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Make each turn of the loop handle several items."""
        for function in code.functions:
            for loop in _loops(code, function):
                if loop.start_byte == at and (read := _read(code, function, loop, choice)):
                    return Rewrite(tuple(vector_text(code, function, *read, _count(choice))))
        return None


def _count(choice: str) -> int:
    """Return the items of a turn that a donor such as ``wide_K4`` stands for."""
    return int(choice.rpartition("K")[2])


def _loops(code: Code, function: Function) -> Iterator[Node]:
    """Find the ``for`` statements of a function, but for one over all items of an elementwise
    kernel, which :class:`.Vector` rewrites."""
    whole = read_elementwise(code, function)
    for one in descend(function.body):
        if one.type == "for_statement" and not (whole is not None and whole.guard == one):
            yield one


def _read(
    code: Code, function: Function, loop: Node, choice: str
) -> tuple[Elementwise, Sequence[Array]] | None:
    """Read a loop, and find the arrays that it can access as vectors of so many items."""
    work = read_turns(code, function, loop)
    if work is None or not has_index_type(code, function, work):
        return None
    if not (function.kernel or work.serial):
        return None  # what its callers do with what it leaves is not read
    offsets = Offsets(code, function, loop, work.name)
    arrays = [
        array
        for pointer in pointers(code, function)
        for begin, own, found in _begins(code, loop, pointer, offsets)
        if (array := array_of(code, function, work, pointer, begin, own, found, _count(choice)))
    ]
    return (work, arrays) if is_a_vector(arrays) else None


def _begins(
    code: Code, loop: Node, pointer: Pointer, offsets: Offsets
) -> Iterator[tuple[str, Sequence[Access], Sequence[Access]]]:
    """Find where the items' elements behind a pointer begin in a loop, one place after the other:
    a pointer to the first, the accesses of such elements, and all accesses through the pointer."""
    body = loop.child_by_field_name("body")
    found = None if body is None else accesses(code, body, pointer.name)
    places: dict[str, list[Access]] = {}
    for one in found or ():
        if (added := offsets.of(one.element)) is not None:
            places.setdefault(added, []).append(one)
    for added, own in places.items():
        yield f"{pointer.name} + {added}" if added else pointer.name, own, found or ()
