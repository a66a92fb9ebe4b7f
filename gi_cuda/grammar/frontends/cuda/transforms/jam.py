"""Unroll and jam: each thread has several items, which share the loops around their work."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.syntax import name_node
from gi_cuda.grammar.frontends.cuda.transforms.code import (
    Code,
    Function,
    descend,
)
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite, Site
from gi_cuda.grammar.frontends.cuda.transforms.indices import (
    declared_names,
    shape_along,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.items import Work, declared_in, read_work
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import changes
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import fresh, unit
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, indent, is_first, newline, replacing, splice

_CHOICE = re.compile(r"jam_K(\d+)(y?)")
_LISTS = frozenset({"initializer_list", "argument_list"})


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

    def sites(self, code: Code) -> Iterator[Site]:
        """Each kernel whose threads work alone and have a loop that does not depend on the item."""
        for kernel in code.kernels:
            specials = self.type.kind.specials
            choices = tuple(one for one in specials if self.rewrite(code, kernel.at, one))
            if choices:
                yield Site(kernel.at, kernel.number, choices)

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Put loops over the items into the loops that they share."""
        kernel, match = code.function_at(at), _CHOICE.fullmatch(choice)
        assert match is not None, "it is a donor of this type"
        count, axis = int(match[1]), match[2] or "x"
        work = None if kernel is None else read_work(code, kernel, axis)
        if kernel is None or work is None:
            return None
        splices = _rewritten(code, kernel, work, axis, count)
        if splices is None:
            return None
        return Rewrite(tuple(splices), shape_along(code, kernel, "items", {axis: count}))


def _rewritten(
    code: Code, kernel: Function, work: Work, axis: str, count: int
) -> list[Splice] | None:
    """The changes of a kernel; None where a variable cannot become an array."""
    item, items = (fresh(one, code, kernel) for one in ("item", "items"))
    several = _escaping(code, work)
    if any([*declared_names(kernel.body, code)].count(one) > 1 for one in several):
        return None
    renamed = {one: f"{one}[{item}]" for one in several} | {work.name: f"{items}[{item}]"}
    text, step = code.text, unit(code, kernel)
    block = work.index.block
    splices = [replacing(block.end_byte, block.end_byte, f" * {count}")]
    margin = indent(text, work.statements[0].start_byte)
    gap = newline(text, kernel.body.start_byte)
    header = f"#pragma unroll{gap}{{}}for (int {item} = 0; {item} < {count}; {item}++)"
    number = f"{work.name} + {item} * blockDim.{axis}"
    tests = " && ".join(one.of(number) for one in work.tests)
    number = f"{tests} ? {number} : {work.name}" if tests else number
    said = work.declared.child_by_field_name("type")
    if said is None or said.type == "placeholder_type_specifier":
        return None
    kind = code.span(said)
    begin = work.statements[0].start_byte
    lines = [
        f"{kind} {items}[{count}];",
        header.format(margin),
        f"{step}{items}[{item}] = {number};",
    ]
    splices.append(replacing(begin, begin, f"{gap}{margin}".join([*lines, ""])))
    guards = _guards(code, work, several)
    for run, guard in zip(work.runs, guards, strict=True):
        first, last = run.statements[0], run.statements[-1]
        bare = first.parent is not None and first.parent.type != "compound_statement"
        around = first.parent if bare else None
        lined = is_first(text, first.start_byte)
        margin = indent(text, first.start_byte)
        if around is not None and not lined:
            margin = indent(text, around.start_byte) + step
        elif not lined:
            margin += step
        body, head, at = "", [], first.start_byte
        for one in run.statements:
            made = _of_item(code, one, renamed, several, count)
            if made is None:
                return None
            head += made[1]
            body += (text[at : one.start_byte] if body else "") + made[0]
            at = one.end_byte
        if tests and guard:
            body = f"if ({item} && {items}[{item}] == {work.name}) break;{gap}{margin}{body}"
        body = re.sub(r"\n(?=[^\n\r])", f"\n{step}", body)
        loop = f"{header.format(margin)} {{{gap}{margin}{step}{body}{gap}{margin}}}"
        made_text = f"{gap}{margin}".join([*head, loop])
        start, end = first.start_byte, last.end_byte
        if around is not None:
            before = first.prev_sibling
            opened = start if before is None else before.end_byte
            between = text[opened:start] if lined else f"{text[opened:start].rstrip()}{gap}{margin}"
            made_text = f" {{{between}{made_text}{gap}{indent(text, around.start_byte)}}}"
            start = opened
        elif not lined:
            start = len(text[:start].rstrip())
            end += len(text[end:]) - len(text[end:].lstrip())
            made_text = f"{gap}{margin}{made_text}{gap}{margin.removesuffix(step)}"
        splices.append(replacing(start, end, made_text))
    return splices


def _escaping(code: Code, work: Work) -> frozenset[str]:
    """The variables that one run leaves to another, with those that are declared with them."""
    found: set[str] = set()
    for run in work.runs:
        said = frozenset[str]().union(*(code.words(one) for one in run.statements)) & work.own
        found |= said - {work.name} - declared_in(code, run)
    together = [frozenset(declared_names(one, code)) for run in work.runs for one in run.statements]
    return frozenset(found).union(*(one for one in together if one & found))


def _of_item(
    code: Code, node: Node, renamed: dict[str, str], several: frozenset[str], count: int
) -> tuple[str, list[str]] | None:
    """The text of a statement for one item, and the arrays that it needs; None where a variable
    cannot be one."""
    if node.type != "declaration" or several.isdisjoint(declared_names(node, code)):
        return _renamed(code, node, renamed), []
    kind = node.child_by_field_name("type")
    words = [code.span(one) for one in node.children if one.type == "type_qualifier"]
    if kind is None or kind.type == "placeholder_type_specifier" or set(words) - {"const"}:
        return None
    if any(one.type == "storage_class_specifier" for one in node.children):
        return None
    arrays, values = [], []
    for one in node.children_by_field_name("declarator"):
        given = one.type == "init_declarator"
        inner = one.child_by_field_name("declarator") if given else one
        value = one.child_by_field_name("value") if given else None
        name = name_node(inner)
        if inner is None or name is None or (value is not None and value.type in _LISTS):
            return None
        if inner.type not in ("identifier", "array_declarator", "pointer_declarator"):
            return None
        if inner.type == "pointer_declarator" and inner.child_by_field_name("declarator") != name:
            return None
        const = "const " if words and inner.type == "pointer_declarator" else ""
        shaped = _with_part(code, inner, name, f"{code.span(name)}[{count}]")
        arrays.append(f"{const}{code.span(kind)} {shaped};")
        if value is not None:
            values.append(f"{renamed[code.span(name)]} = {_renamed(code, value, renamed)};")
    return " ".join(values), arrays


def _with_part(code: Code, whole: Node, part: Node, text: str) -> str:
    """The text of a node with another one for a part of it."""
    before = code.text[whole.start_byte : part.start_byte]
    return f"{before}{text}{code.text[part.end_byte : whole.end_byte]}"


def _renamed(code: Code, node: Node, renamed: dict[str, str]) -> str:
    """The text of a node with other names for variables."""
    found = [
        replacing(one.start_byte - node.start_byte, one.end_byte - node.start_byte, renamed[name])
        for one in descend(node)
        if one.type == "identifier" and (name := code.span(one)) in renamed
    ]
    return splice(code.span(node), found)


def _guards(code: Code, work: Work, several: frozenset[str]) -> list[bool]:
    """Tell of each run whether a thread may not execute it for an item that it does not have: the
    run changes memory, or another run does that leaves a variable to later ones."""
    left = (
        changes(code, *run.statements).all.union(declared_in(code, run)) & several
        for run in work.runs
        if run.acts and not (run == work.runs[-1] and run.statements[0] in work.statements)
    )
    every = any(left)
    return [every or run.acts for run in work.runs]
