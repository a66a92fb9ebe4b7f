"""Loops over the items of a thread, put around the statements that each item has of its own."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import name_node, parts
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, Function, descend, geometry
from gi_cuda.grammar.frontends.cuda.transforms.mapping.indices import declared_names
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import changes
from gi_cuda.grammar.frontends.cuda.transforms.reading.per_item.items import (
    Run,
    Work,
    declared_in,
    used_names,
)
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import unit
from gi_cuda.grammar.splice import Splice, indent, is_first, newline, replacing, splice

_DECLARATORS = frozenset({"identifier", "array_declarator", "pointer_declarator"})
_QUALIFIERS = frozenset({"type_qualifier", "storage_class_specifier"})
_ZEROS = re.compile(r"\{(\s*0*\.?0*[fFuUlL]*\s*,?)*\}")


@dataclass(frozen=True, slots=True)
class Jamming:
    """The rewrite of a kernel whose threads get several items.

    Attributes:
        code: the source.
        kernel: the kernel.
        item: the variable of the loops over the items.
        count: how many items a thread has.
        texts: what stands for the number of the item, by its name, ``items[item]`` for ``i``, and
            for ``return``.
    """

    code: Code
    kernel: Function
    item: str
    count: int
    texts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Frame:
    """Statements that a loop over the items gets besides its run; "" for none.

    Attributes:
        first: the first one in the loop: it leaves out an item that is missing.
        after: the one behind the loop.
    """

    first: str = ""
    after: str = ""


def jammed(jamming: Jamming, work: Work, frames: Sequence[Frame]) -> list[Splice] | None:
    """Put a loop over the items around each run.

    Args:
        jamming: the rewrite.
        work: the work.
        frames: further statements for each run.

    Returns:
        None if a variable cannot become an array.
    """
    code, kernel = jamming.code, jamming.kernel
    several = escaping(code, work)
    inside = Counter(declared_names(kernel.body, code))
    inside.subtract(
        name
        for run in work.runs
        for one in run.statements
        if one.type == "declaration"
        for name in declared_names(one, code)
    )
    if any(inside[one] for one in several):
        return None
    renamed = {one: f"{one}[{jamming.item}]" for one in several} | dict(jamming.texts)
    found = [
        _around(jamming, run, frame, renamed, several)
        for run, frame in zip(work.runs, frames, strict=True)
    ]
    splices = [one for one in found if one is not None]
    return splices if len(splices) == len(found) else None


def escaping(code: Code, work: Work) -> frozenset[str]:
    """Return the variables that one run leaves to another or that threads share, with those that
    are declared with them."""
    found: set[str] = set()
    for run in work.runs:
        said = frozenset[str]().union(*(used_names(code, one) for one in run.statements)) & work.own
        found |= said - {work.name} - declared_in(code, run)
    together = [(one, {*declared_names(one, code)}) for run in work.runs for one in run.statements]
    for one, names in together:
        if one.type == "declaration" and (
            "__shared__" in _qualifiers(code, one) or names - work.own
        ):
            found |= names & work.own
    return frozenset(found).union(*(names & work.own for _, names in together if names & found))


def guarded(code: Code, work: Work) -> list[bool]:
    """Tell of each run whether it must not be executed for a missing item, for which another item
    stands: the run changes memory, or a run that does leaves a variable to later ones."""
    several = escaping(code, work)
    left = (
        changes(code, *run.statements).all.union(declared_in(code, run)) & several
        for run in work.runs
        if run.acts and not (run == work.runs[-1] and run.statements[0] in work.statements)
    )
    every = any(left)
    return [every or run.acts for run in work.runs]


def _around(
    jamming: Jamming, run: Run, frame: Frame, renamed: Mapping[str, str], several: frozenset[str]
) -> Splice | None:
    """Put the loop around a run; None where a variable cannot be an array."""
    code, item, count = jamming.code, jamming.item, jamming.count
    text, step = code.text, unit(code, jamming.kernel)
    gap = newline(text, jamming.kernel.body.start_byte)
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
        if made[0]:
            body += (text[at : one.start_byte] if body else "") + made[0]
        at = one.end_byte
    if frame.first and body:
        body = f"{frame.first}{gap}{margin}{body}"
    lines = [*head]
    if body:
        body = re.sub(r"\n(?=[^\n\r])", f"\n{step}", body)
        header = f"for (int {item} = 0; {item} < {count}; {item}++) {{"
        lines += ["#pragma unroll", header, f"{step}{body}", "}"]
    lines += [frame.after] if frame.after else []
    made_text = f"{gap}{margin}".join(lines)
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
    return replacing(start, end, made_text)


def _of_item(
    code: Code, node: Node, renamed: Mapping[str, str], several: frozenset[str], count: int
) -> tuple[str, list[str]] | None:
    """Return the text of a statement for one item, and the arrays that it needs; None where a
    variable cannot be one."""
    if node.type != "declaration" or several.isdisjoint(declared_names(node, code)):
        return _renamed(code, node, renamed), []
    kind, words = node.child_by_field_name("type"), _qualifiers(code, node)
    shared = "__shared__" in words
    known = {"const", *(("__shared__", "volatile", "static") if shared else ())}
    if kind is None or kind.type == "placeholder_type_specifier" or words - known:
        return None
    placed = [one for one in ("static", "volatile", "__shared__") if one in words]
    arrays, values = [], []
    for one in node.children_by_field_name("declarator"):
        given = one.type == "init_declarator"
        inner = one.child_by_field_name("declarator") if given else one
        value = one.child_by_field_name("value") if given else None
        if several.isdisjoint(map(code.span, filter(None, [name_node(inner)]))):
            first = node.children_by_field_name("declarator")[0]
            arrays.append(f"{code.text[node.start_byte : first.start_byte]}{code.span(one)};")
            continue
        shaped = None if inner is None else _array(code, inner, count)
        if shaped is None:
            return None
        zeros = value is not None and _ZEROS.fullmatch(code.span(value)) is not None
        const = ["const"] if "const" in words and shaped.startswith("*") else []
        empty = " = {}" if zeros else ""
        arrays.append(" ".join([*placed, *const, code.span(kind), f"{shaped}{empty};"]))
        if value is not None and not zeros:
            if value.type == "initializer_list" or (
                value.type == "argument_list" and len(parts(value)) != 1
            ):
                return None
            name = code.span(name_node(inner) or value)
            values.append(f"{renamed[name]} = {_renamed(code, value, renamed)};")
    return " ".join(values), arrays


def _array(code: Code, declarator: Node, count: int) -> str | None:
    """Return the declarator of an array of a variable's type: ``*p[4]`` of ``*__restrict__ p``."""
    name = name_node(declarator)
    pointer = declarator.type == "pointer_declarator"
    if name is None or declarator.type not in _DECLARATORS:
        return None
    if pointer and declarator.child_by_field_name("declarator") != name:
        return None
    behind = code.text[name.end_byte : declarator.end_byte]
    return f"{'*' * pointer}{code.span(name)}[{count}]{behind}"


def _qualifiers(code: Code, declaration: Node) -> frozenset[str]:
    """Return the words of a declaration such as ``const``, ``static`` and ``__shared__``."""
    found = (one for one in declaration.children if one.type in _QUALIFIERS)
    return frozenset(map(code.span, found))


def _renamed(code: Code, node: Node, renamed: Mapping[str, str]) -> str:
    """Return the text of a node with other text for variables, and for ``return``."""
    found = []
    for one in descend(node):
        told = geometry(one, code.text)
        name = ".".join(told) if told else code.span(one) if one.type == "identifier" else ""
        name = "return" if one.type == "return_statement" else name
        if name in renamed:
            start, end = one.start_byte - node.start_byte, one.end_byte - node.start_byte
            inside = one.parent is not None and one.parent.type == "compound_statement"
            new = renamed[name].strip("{ }") if name == "return" and inside else renamed[name]
            found.append(replacing(start, end, new))
    return splice(code.span(node), found)
