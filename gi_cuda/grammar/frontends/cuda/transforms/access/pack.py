"""Packed accesses: neighbouring elements that a thread accesses one by one are one vector."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.transforms.access.vector import vector_of
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite, Site
from gi_cuda.grammar.frontends.cuda.transforms.reading.per_item.neighbours import (
    Neighbours,
    neighbours,
)
from gi_cuda.grammar.frontends.cuda.transforms.writing.around_loops import around
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import fresh, unit
from gi_cuda.grammar.frontends.cuda.transforms.writing.vector_text import copy_name
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, replacing


class Pack(Family):
    """``<pack_kernel.cu_8><pack_K4>`` loads and stores four neighbouring elements at once that the
    function on line 8 accesses one by one.

    Before and after::

        sum += a[4 * i] + a[4 * i + 1] + a[4 * i + 2] + a[4 * i + 3];

        __align__(16) float a4[4];
        if ((size_t)(&a[4 * i]) % 16 == 0) {
            *reinterpret_cast<float4 *>(a4) = *reinterpret_cast<const float4 *>(&a[4 * i]);
        } else {
            #pragma unroll
            for (int k = 0; k < 4; k++) a4[k] = (&a[4 * i])[k];
        }
        sum += a4[0] + a4[1] + a4[2] + a4[3];

    Loads are made before the first of them, stores after the last. Of eight elements, two vectors
    are loaded or stored there.
    """

    type = RuleType.PACK

    def sites(self, code: Code) -> Iterator[Site]:
        """Find the functions with elements that can be accessed together."""
        for one in code.functions:
            specials = self.type.kind.specials
            choices = tuple(choice for choice in specials if self.rewrite(code, one.at, choice))
            if choices:
                yield Site(one.at, one.number, choices)

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Access all such elements of a function as vectors of so many."""
        function, count = code.function_at(at), int(choice.rpartition("K")[2])
        splices, copies = list[Splice](), list[str]()
        before, after = defaultdict[Node, list[str]](list), defaultdict[Node, list[str]](list)
        for one in neighbours(code, function, count) if function else ():
            assert function is not None
            copy = fresh(copy_name(one.pointer.name, one.length), code, function, copies)
            if lines := _lines(code, function, one, count, copy):
                copies.append(copy)
                declared, *moves = lines
                before[one.places[0].statement] += [declared, *(() if one.stored else moves)]
                after[one.places[-1].statement] += moves if one.stored else ()
                splices += _elements(one, copy)
        for statement in before.keys() | after.keys():
            placed = around(code, statement, before[statement], after[statement])
            if placed is None:
                return None
            splices += placed
        return Rewrite(tuple(splices)) if splices else None


def _elements(one: Neighbours, copy: str) -> Iterator[Splice]:
    """Access the elements of the copy."""
    for place in one.places:
        node = place.access.node
        yield replacing(node.start_byte, node.end_byte, f"{copy}[{place.offset - one.first}]")


def _lines(code: Code, function: Function, one: Neighbours, count: int, copy: str) -> Sequence[str]:
    """Write the declaration of a copy of neighbouring elements, and the lines that load or store
    them; none where no vector of CUDA holds them."""
    lowest = next(place.access.element for place in one.places if place.offset == one.first)
    vector, width = vector_of(code.type(lowest, function), count)
    if not vector or any("\n" in code.span(place.access.element) for place in one.places):
        return ()
    at, k, step = f"&{code.span(lowest)}", fresh("k", code, function), unit(code, function)
    ends = (copy, at), (f"{copy}[{k}]", f"({at})[{k}]")
    (to, source), (element, other) = (end[::-1] for end in ends) if one.stored else ends
    loop = f"{step}for (int {k} = 0; {k} < {{}}; {k}++) "
    unrolled, several = f"{step}#pragma unroll", one.length > count
    star, item = ("", f"[{k}]") if several else ("*", "")
    to = f"{star}reinterpret_cast<{vector} *>({to}){item}"
    source = f"{star}reinterpret_cast<const {vector} *>({source}){item}"
    return (
        f"__align__({width}) {one.pointer.spelled} {copy}[{one.length}];",
        f"if ((size_t)({at}) % {width} == 0) {{",
        *([unrolled] if several else ()),
        f"{loop.format(one.length // count) if several else step}{to} = {source};",
        "} else {",
        unrolled,
        f"{loop.format(one.length)}{element} = {other};",
        "}",
    )
