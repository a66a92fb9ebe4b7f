"""Unroll and jam: each thread has several items, which share the loops around their work."""

from __future__ import annotations

import re

from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite
from gi_cuda.grammar.frontends.cuda.transforms.mapping.indices import shape_along
from gi_cuda.grammar.frontends.cuda.transforms.reading.per_item.items import Items, read_items
from gi_cuda.grammar.frontends.cuda.transforms.writing.jammed import Frame, Jamming, guarded, jammed
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import fresh, unit
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, indent, newline, replacing

_CHOICE = re.compile(r"jam_K(\d+)(y?)")


class Jam(Family):
    """``<jam_kernel.cu_41><jam_K4>`` gives each thread four items along x, which share its loops.

    Before and after::

        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        float sum = 0;
        for (int j = 0; j < m; j++) {
            sum += a[j * n + i] * b[j];
        }
        c[i] = sum;

        int i = blockIdx.x * 4 * blockDim.x + threadIdx.x;
        if (i >= n) return;
        int items[4];
        #pragma unroll
        for (int item = 0; item < 4; item++)
            items[item] = i + item * blockDim.x < n ? i + item * blockDim.x : i;
        float sum[4];
        #pragma unroll
        for (int item = 0; item < 4; item++) {
            sum[item] = 0;
        }
        for (int j = 0; j < m; j++) {
            #pragma unroll
            for (int item = 0; item < 4; item++) {
                sum[item] += a[j * n + items[item]] * b[j];
            }
        }
        #pragma unroll
        for (int item = 0; item < 4; item++) {
            if (item && items[item] == i) break;
            c[items[item]] = sum[item];
        }

    What is the same for all items (``b[j]``) is loaded once, and their additions overlap. A thread
    that has fewer items computes its first one again in their places, and stores it once. The
    grid is a quarter as wide; the answers are the same with the grid as it was.
    """

    type = RuleType.JAM

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Put loops over the items into the loops that they share."""
        kernel, match = code.function_at(at), _CHOICE.fullmatch(choice)
        assert match is not None, "it is a donor of this type"
        count, axis = int(match[1]), match[2] or "x"
        items = None if kernel is None else read_items(code, kernel, axis)
        if kernel is None or items is None:
            return None
        splices = _rewritten(code, kernel, items, axis, count)
        if splices is None:
            return None
        return Rewrite(tuple(splices), shape_along(code, kernel, "items", {axis: count}))


def _rewritten(
    code: Code, kernel: Function, items: Items, axis: str, count: int
) -> list[Splice] | None:
    """Return the changes of a kernel; None if a variable cannot become an array."""
    work, tests = items.work, items.tests
    item, numbers = (fresh(one, code, kernel) for one in ("item", "items"))
    text, step = code.text, unit(code, kernel)
    block = items.index.block
    number = f"{work.name} + {item} * blockDim.{axis}"
    conditions = " && ".join(one.of(number) for one in tests)
    number = f"{conditions} ? {number} : {work.name}" if tests else number
    said = items.declared.child_by_field_name("type")
    if said is None or said.type == "placeholder_type_specifier":
        return None
    begin = work.statements[0].start_byte
    gap = f"{newline(text, kernel.body.start_byte)}{indent(text, begin)}"
    lines = [
        f"{code.span(said)} {numbers}[{count}];",
        f"#pragma unroll{gap}for (int {item} = 0; {item} < {count}; {item}++)",
        f"{step}{numbers}[{item}] = {number};",
    ]
    leave = f"if ({item} && {numbers}[{item}] == {work.name}) break;"
    frames = [Frame(leave if tests and one else "") for one in guarded(code, work)]
    jamming = Jamming(code, kernel, item, count, {work.name: f"{numbers}[{item}]"})
    splices = jammed(jamming, work, frames)
    return splices and [
        replacing(block.end_byte, block.end_byte, f" * {count}"),
        replacing(begin, begin, gap.join([*lines, ""])),
        *splices,
    ]
