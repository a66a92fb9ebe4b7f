"""Thread coarsening: each block does the work of several."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import is_bare, name_node, parts
from gi_cuda.grammar.frontends.cuda.transforms.code import (
    Code,
    Function,
    descend,
    geometry,
    is_nested,
    statements,
)
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite, Site
from gi_cuda.grammar.frontends.cuda.transforms.mapping.indices import (
    declared_as,
    indices,
    is_guarded,
    parameter_names,
    shape_along,
    uses_block_besides,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.loops.bounds import joined, read_bound
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import changes
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import fresh, indented, unit
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, indent, newline, opening, replacing

_ASSIGNS = frozenset({"assignment_expression", "update_expression"})
_CHOICE = re.compile(r"coarsen_K(\d+)([yz]?)")


class Coarsen(Family):
    """``<coarsen_kernel.cu_41><coarsen_K4>`` gives each block the work of four along x.

    Before and after, where the whole work is under one ``if``::

        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) {
            b[i] = 2 * a[i];
        }

        int i = blockIdx.x * 4 * blockDim.x + threadIdx.x;
        #pragma unroll
        for (int item = 0; item < 4 && i < n; item++, i += blockDim.x) {
            b[i] = 2 * a[i];
        }

    Elsewhere (other conditions, early returns) the whole body stands in the loop, with
    ``(blockIdx.x * 4 + item)`` in the place of ``blockIdx.x``; a kernel with a loop over the grid
    stays as it is. The grid is a quarter as wide. The answers are the same with the grid as it was.

    Where the kernel does not compare its index, the grid stays and the block has a quarter of its
    threads.
    """

    type = RuleType.COARSEN

    def sites(self, code: Code) -> Iterator[Site]:
        """Return a site for each kernel whose threads work independently."""
        for kernel in code.kernels:
            axes = _axes(code, kernel)
            choices = [one for one in self.type.kind.specials if _read(one)[1] in axes]
            if choices:
                yield Site(kernel.at, kernel.number, tuple(choices))

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Put a loop around the work of a thread."""
        kernel = code.function_at(at)
        count, axis = _read(choice)
        if kernel is None or axis not in _axes(code, kernel):
            return None
        shape = shape_along(code, kernel, "items", {axis: count})
        if any(strided == axis for strided, _ in indices(code, kernel).strides):
            return Rewrite((), shape)  # it has a loop over the grid, however large that is
        item = fresh("item", code, kernel)
        splices = _in_place_of_if(code, kernel, axis, count, item)
        if splices is None:
            splices = _around_body(code, kernel, axis, count, item)
        return Rewrite(tuple(splices), shape)


def _read(choice: str) -> tuple[int, str]:
    """Return the number of items and the axis of a choice."""
    match = _CHOICE.fullmatch(choice)
    assert match is not None, "it is a donor of this type"
    return int(match[1]), match[2] or "x"


def _axes(code: Code, kernel: Function) -> frozenset[str]:
    """Return the axes along which a kernel can be coarsened."""
    if not code.alone(kernel, conditional=True) or not _leaves_by_continue(kernel):
        return frozenset()
    found = indices(code, kernel)
    strided = {axis for axis, _ in found.strides}
    used = strided | {told[1] for one in found.others if (told := geometry(one, code.text))}
    carried = _changes_parameter(code, kernel)
    return frozenset(
        one.axis
        for one in found.found
        if (one.axis not in used or is_guarded(code, kernel, one.axis))
        and (one.axis in strided or not carried)
    )


def _changes_parameter(code: Code, kernel: Function) -> bool:
    """Tell whether an item would find another value of a parameter than the item before it."""
    names = parameter_names(code, kernel)
    nodes = [one for one in descend(kernel.body) if one.type in _ASSIGNS]
    targets = (one.child_by_field_name(x) for one in nodes for x in ("left", "argument"))
    return any(one is not None and code.span(one) in names for one in targets)


def _leaves_by_continue(kernel: Function) -> bool:
    """Tell whether each ``return`` can become a ``continue`` of a loop around the body."""
    return all(not is_nested(one, kernel.body) for one in _returns(kernel))


def _returns(kernel: Function) -> Iterator[Node]:
    return (one for one in descend(kernel.body) if one.type == "return_statement")


def _in_place_of_if(
    code: Code, kernel: Function, axis: str, count: int, item: str
) -> list[Splice] | None:
    """Return the splices that replace the ``if`` around a thread's work by a loop."""
    own = statements(kernel.body)
    found = [one for one in indices(code, kernel).found if one.axis == axis]
    if len(found) != 1 or not own or own[-1].type != "if_statement" or any(_returns(kernel)):
        return None
    last, index = own[-1], found[0]
    condition = last.child_by_field_name("condition")
    declared = declared_as(index)
    if condition is None or declared is None or last.child_by_field_name("alternative"):
        return None
    declaration, name_at = declared
    name, test = code.span(name_at), code.span(condition)[1:-1].strip()
    between = own[own.index(declaration) + 1 : -1] if declaration in own else None
    if between is None or any(name in code.words(one) for one in between):
        return None
    if not _ends(code, condition, name) or uses_block_besides(code, kernel, index):
        return None
    if name in changes(code, last).whole or not _bare_outside(code, own[:-1], last):
        return None
    text = code.text
    gap = newline(text, last.start_byte) + indent(text, last.start_byte)
    header = (
        f"#pragma unroll{gap}for (int {item} = 0; {item} < {count} && {test};"
        f" {item}++, {name} += blockDim.{axis})"
    )
    splices = [
        replacing(index.block.end_byte, index.block.end_byte, f" * {count}"),
        replacing(last.start_byte, condition.end_byte, header),
    ]
    for one in declaration.children:
        if one.type == "type_qualifier" and code.span(one) == "const":
            end = one.end_byte
            while text[end : end + 1] == " ":
                end += 1
            splices.append(replacing(one.start_byte, end, ""))
    return splices


def _ends(code: Code, condition: Node, name: str) -> bool:
    """Tell whether a condition that is false for an index is false for all larger ones: it is a
    conjunction in which the index is compared with upper limits alone."""
    (inner,) = parts(condition)
    found = [one for one in joined(inner, "&&") if name in code.words(one)]
    bounds = [read_bound(code, one, name) for one in found]
    return bool(bounds) and all(one is not None and one.from_above for one in bounds)


def _bare_outside(code: Code, before: Sequence[Node], work: Node) -> bool:
    """Ask whether the variables that the work changes and that are declared before it have no value
    there, so that no item finds what the one before it left."""
    changed = changes(code, work).all
    for declaration in before:
        for node in descend(declaration):
            if node.type != "declaration":
                continue
            for declarator in node.children_by_field_name("declarator"):
                name = name_node(declarator)
                if name is not None and code.span(name) in changed and not is_bare(node, name):
                    return False
    return not any(changed & changes(code, one).all for one in before if one.type != "declaration")


def _around_body(code: Code, kernel: Function, axis: str, count: int, item: str) -> list[Splice]:
    """Return the splices that put a loop around the whole body."""
    text, body = code.text, kernel.body
    first, last = statements(body)[0], body.children[-1]
    step = unit(code, kernel)
    margin = indent(text, first.start_byte)
    gap = newline(text, body.start_byte)
    start = first.start_byte
    loop = f"for (int {item} = 0; {item} < {count}; {item}++) {{"
    head = f"#pragma unroll{gap}{margin}{loop}{gap}{margin}{step}"
    splices = [opening(start, start, head)]
    splices += indented(code, start, last.start_byte, step)
    close = last.start_byte
    at = text.rfind("\n", 0, close) + 1
    if text[at:close].strip():
        splices.append(replacing(close, close, f"}}{gap}"))
    else:
        splices.append(replacing(at, at, f"{margin}}}{gap}"))
    for node in descend(body):
        told = geometry(node, text)
        if told == ("blockIdx", axis):
            splices.append(
                replacing(node.start_byte, node.end_byte, f"(blockIdx.{axis} * {count} + {item})")
            )
        elif told == ("gridDim", axis):
            splices.append(replacing(node.start_byte, node.end_byte, f"(gridDim.{axis} * {count})"))
    splices += [replacing(one.start_byte, one.end_byte, "continue;") for one in _returns(kernel)]
    return splices
