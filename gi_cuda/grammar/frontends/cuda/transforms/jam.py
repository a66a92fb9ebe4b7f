"""Unroll and jam: each thread has several items, which share the loops around their work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.syntax import declarators, name_node, parts
from gi_cuda.grammar.frontends.cuda.transforms.code import (
    Code,
    Function,
    descend,
    geometry,
    statements,
)
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite, Site
from gi_cuda.grammar.frontends.cuda.transforms.indices import (
    declared_as,
    declared_names,
    indices,
    is_guarded,
    shape_along,
    uses_block_besides,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.arithmetic import math_call
from gi_cuda.grammar.frontends.cuda.transforms.reading.bounds import Bound, joined, read_bound
from gi_cuda.grammar.frontends.cuda.transforms.reading.callees import called_name, is_cast
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import changes, changes_by
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import fresh, unit
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import Splice, indent, is_first, newline, replacing, splice

_CHOICE = re.compile(r"jam_K(\d+)(y?)")
_SHARED = frozenset({"for_statement", "while_statement"})
_LEAVES = frozenset({"break_statement", "continue_statement"})
_DECLINED = frozenset(
    {"return_statement", "goto_statement", "labeled_statement", "lambda_expression"}
)
_PURE = re.compile(r"make_\w+[1-4]|__ldg|__f\w+_r[nzud]|__fdividef|__\w+f|min|max|abs|tex\w+")
_LISTS = frozenset({"initializer_list", "argument_list"})

Run = tuple[Node, ...]
"""Statements that follow each other, with the pragmas before them, which each item has of its
own."""


@dataclass(frozen=True)
class _Work:
    """What a thread does for an item.

    Attributes:
        index: the variable of the item's number.
        declared: its declaration.
        tests: what holds of the number of each item.
        statements: the work.
        own: the variables of which each item has its own, the number among them.
        runs: the statements that use these, in order.
    """

    block: Node
    index: str
    declared: Node
    tests: tuple[Bound, ...]
    statements: tuple[Node, ...]
    own: frozenset[str]
    runs: tuple[Run, ...]


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
        work = None if kernel is None else _read(code, kernel, axis)
        if kernel is None or work is None:
            return None
        splices = _rewritten(code, kernel, work, axis, count)
        if splices is None:
            return None
        return Rewrite(tuple(splices), shape_along(code, kernel, "items", {axis: count}))


# -- what depends on the item --------------------------------------------------------------------


def _read(code: Code, kernel: Function, axis: str) -> _Work | None:
    """Read the work of a thread; None where it cannot be told apart by items, or has no loop that
    these can share."""
    known = indices(code, kernel)
    found = [one for one in known.found if one.axis == axis]
    if len(found) != 1 or any(one == axis for one, _ in known.strides) or not code.alone(kernel):
        return None
    declared, own = declared_as(found[0]), statements(kernel.body)
    if declared is None or declared[0] not in own:
        return None
    index, rest = code.span(declared[1]), own[own.index(declared[0]) + 1 :]
    if uses_block_besides(code, kernel, found[0]) or index in changes(code, kernel.body).whole:
        return None
    guarded = _guarded(code, rest, index)
    if guarded is None:
        others = {told[1] for one in known.others if (told := geometry(one, code.text))}
        if axis in others or is_guarded(code, kernel, axis):
            return None
        guarded = (), kernel.body, rest
    tests, block, work = guarded
    before = own[: own.index(work[0])] if work and block == kernel.body else own[:-1]
    outside = frozenset[str]().union(*(_declared(code, one) for one in before))
    names = _own(code, work, index, outside - {index})
    if names is None:
        return None
    runs = tuple(_runs(code, work, names))
    shared = (one for top in work for one in descend(top) if one.type in _SHARED)
    if not any(_holds(loop, run[0]) and loop not in run for loop in shared for run in runs):
        return None
    mine = [one for run in runs for one in run]
    if _acts(code, _outside(kernel.body, mine), _held(code, [kernel.body])):
        return None  # a thread would do for all items what it did for each
    return _Work(block, index, declared[0], tests, tuple(work), names, runs)


def _outside(top: Node, inner: Sequence[Node]) -> Iterator[Node]:
    """A node and those below it, without some of them."""
    if top not in inner:
        yield top
        for child in top.children:
            yield from _outside(child, inner)


def _declared(code: Code, node: Node) -> frozenset[str]:
    """Return the variables that a statement declares."""
    return frozenset(declared_names(node, code))


def _guarded(
    code: Code, rest: Sequence[Node], index: str
) -> tuple[tuple[Bound, ...], Node, Sequence[Node]] | None:
    """Find the test that a thread has an item, the block of the work and its statements: what
    follows ``if (i >= n) return;``, or is in the last ``if (i < n)``."""
    for at, one in enumerate(rest):
        if index not in code.words(one):
            continue
        condition = one.child_by_field_name("condition")
        body = one.child_by_field_name("consequence")
        if one.type != "if_statement" or condition is None or body is None:
            return None
        if one.child_by_field_name("alternative") is not None or one.parent is None:
            return None
        inner = statements(body) if body.type == "compound_statement" else [body]
        leaves = [each.type for each in inner] == ["return_statement"]
        tests: list[Bound] = []
        for each in joined(parts(condition)[0], "||" if leaves else "&&"):
            if index in code.words(each):
                bound = read_bound(code, each, index)
                bound = bound.negated if bound and leaves else bound
                if bound is None or not bound.from_above:
                    return None
                tests.append(bound)
        if leaves:
            return tuple(tests), one.parent, rest[at + 1 :]
        return (tuple(tests), body, inner) if one == rest[-1] and body != inner[0] else None
    return None


def _own(
    code: Code, work: Sequence[Node], index: str, outside: frozenset[str]
) -> frozenset[str] | None:
    """Find the variables that depend on the item; None where one of them is declared elsewhere, or
    the work is not understood."""
    if any(one.type in _DECLINED for top in work for one in descend(top)):
        return None
    held = _held(code, work)
    names, before = frozenset({index}), frozenset[str]()
    while names != before:
        before = names
        for leaf in _leaves(code, work, names):
            if code.words(leaf) & names:
                changed = changes(code, leaf)
                inside = _declared(code, leaf)
                own = inside if leaf.type == "declaration" else frozenset[str]()
                names |= own | ((changed.whole | changed.inner & held) - (inside - own))
    declared = frozenset[str]().union(*(_declared(code, one) for one in work))
    hidden = frozenset[str]().union(*(code.macro_words(one) for one in work))
    if names - {index} - declared or names & (hidden | outside):
        return None
    return names


def _held(code: Code, work: Sequence[Node]) -> frozenset[str]:
    """The variables of the work that hold their elements or members: no pointers."""
    found = (
        (one, name_node(one))
        for top in work
        for node in descend(top)
        if node.type == "declaration"
        for one in declarators(node)
    )
    return frozenset(
        code.span(name) for one, name in found if name and one.type != "pointer_declarator"
    )


def _leaves(code: Code, work: Iterable[Node], names: frozenset[str]) -> Iterator[Node]:
    """The statements that are executed for all items, or for each by itself."""
    for one in work:
        if (bodies := _bodies(code, one, names)) is None:
            yield one
        else:
            yield from _leaves(code, bodies, names)


def _bodies(code: Code, node: Node, names: frozenset[str]) -> list[Node] | None:
    """The statements in a loop or branch that all items have in common; None of other nodes."""
    if node.type == "compound_statement":
        return list(node.named_children)
    if node.type == "else_clause":
        return [parts(node)[-1]]
    fields = {"if_statement": ("consequence", "alternative")}.get(node.type, ("body",))
    if node.type != "if_statement" and node.type not in _SHARED:
        return None
    if node.type in _SHARED and any(one.type in _LEAVES for one in descend(node)):
        return None
    bodies = [one for field in fields if (one := node.child_by_field_name(field)) is not None]
    heads = [one for one in node.children if one not in bodies]
    return None if any(code.words(one) & names for one in heads) else bodies


def _runs(code: Code, work: Iterable[Node], names: frozenset[str]) -> Iterator[Run]:
    """The statements that each item has of its own."""
    run: list[Node] = []
    pragmas: list[Node] = []
    for one in work:
        if one.type == "comment":
            continue
        if one.type.startswith("preproc"):
            pragmas.append(one)
            continue
        bodies = _bodies(code, one, names) if code.words(one) & names else []
        if bodies is None:
            run += [*pragmas, one]
        elif run:
            yield tuple(run)
            run = []
        pragmas = []
        yield from _runs(code, bodies or (), names)
    if run:
        yield tuple(run)


def _holds(outer: Node, inner: Node) -> bool:
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


# -- the text that each item has -----------------------------------------------------------------


def _rewritten(
    code: Code, kernel: Function, work: _Work, axis: str, count: int
) -> list[Splice] | None:
    """The changes of a kernel; None where a variable cannot become an array."""
    item, items = (fresh(one, code, kernel) for one in ("item", "items"))
    several = _escaping(code, work)
    if any([*declared_names(kernel.body, code)].count(one) > 1 for one in several):
        return None
    renamed = {one: f"{one}[{item}]" for one in several} | {work.index: f"{items}[{item}]"}
    text, step = code.text, unit(code, kernel)
    block = next(one for one in indices(code, kernel).found if one.axis == axis).block
    splices = [replacing(block.end_byte, block.end_byte, f" * {count}")]
    margin = indent(text, work.statements[0].start_byte)
    gap = newline(text, kernel.body.start_byte)
    header = f"#pragma unroll{gap}{{}}for (int {item} = 0; {item} < {count}; {item}++)"
    number = f"{work.index} + {item} * blockDim.{axis}"
    tests = " && ".join(one.of(number) for one in work.tests)
    number = f"{tests} ? {number} : {work.index}" if tests else number
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
        first, last = run[0], run[-1]
        bare = first.parent is not None and first.parent.type != "compound_statement"
        around = first.parent if bare else None
        lined = is_first(text, first.start_byte)
        margin = indent(text, first.start_byte)
        if around is not None:
            margin = indent(text, around.start_byte) + step
        elif not lined:
            margin += step
        body, head, at = "", [], first.start_byte
        for one in run:
            made = _of_item(code, one, renamed, several, count)
            if made is None:
                return None
            head += made[1]
            body += (text[at : one.start_byte] if body else "") + made[0]
            at = one.end_byte
        if tests and guard:
            body = f"if ({item} && {items}[{item}] == {work.index}) break;{gap}{margin}{body}"
        body = re.sub(r"\n(?=[^\n\r])", f"\n{step}", body)
        loop = f"{header.format(margin)} {{{gap}{margin}{step}{body}{gap}{margin}}}"
        made_text = f"{gap}{margin}".join([*head, loop])
        start, end = first.start_byte, last.end_byte
        if around is not None:
            outer = indent(text, around.start_byte)
            before = first.prev_sibling
            start = start if before is None else before.end_byte
            made_text = f" {{{gap}{margin}{made_text}{gap}{outer}}}"
        elif not lined:
            start = len(text[:start].rstrip())
            end += len(text[end:]) - len(text[end:].lstrip())
            made_text = f"{gap}{margin}{made_text}{gap}{margin.removesuffix(step)}"
        splices.append(replacing(start, end, made_text))
    return splices


def _escaping(code: Code, work: _Work) -> frozenset[str]:
    """The variables that one run leaves to another, with those that are declared with them."""
    found: set[str] = set()
    for run in work.runs:
        said = frozenset[str]().union(*(code.words(one) for one in run)) & work.own
        own = [_declared(code, one) for one in run]
        found |= said - {work.index} - frozenset[str]().union(*own)
    together = [_declared(code, one) for run in work.runs for one in run]
    return frozenset(found).union(*(one for one in together if one & found))


def _of_item(
    code: Code, node: Node, renamed: dict[str, str], several: frozenset[str], count: int
) -> tuple[str, list[str]] | None:
    """The text of a statement for one item, and the arrays that it needs; None where a variable
    cannot be one."""
    if node.type != "declaration" or not _declared(code, node) & several:
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


def _guards(code: Code, work: _Work, several: frozenset[str]) -> list[bool]:
    """Tell of each run whether a thread may not make it for an item that it does not have: it
    changes memory, or another run does that leaves a variable to later ones."""
    held = _held(code, work.statements)
    acts = [_acts(code, [n for one in run for n in descend(one)], held) for run in work.runs]
    left = (
        changes(code, *run).all.union(*(_declared(code, one) for one in run)) & several
        for run, act in zip(work.runs, acts, strict=True)
        if act and not (run == work.runs[-1] and run[0] in work.statements)
    )
    return [True] * len(acts) if any(left) else acts


def _acts(code: Code, nodes: Iterable[Node], held: frozenset[str]) -> bool:
    """Tell whether some nodes may change anything but variables.

    Args:
        held: variables that hold their elements or members.
    """
    return any(
        not _is_pure_call(code, one)
        if one.type == "call_expression"
        else bool(changes_by(code, one).inner - held)
        for one in nodes
    )


def _is_pure_call(code: Code, call: Node) -> bool:
    """Tell whether a call computes a value and does nothing else."""
    name = called_name(code, call) or ""
    known = math_call(code, call)[0] or _PURE.fullmatch(name) or is_cast(code, call)
    return bool(known) and name not in code.macros
