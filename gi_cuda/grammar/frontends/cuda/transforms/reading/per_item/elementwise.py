"""Elementwise kernels: each thread handles the item that its global index names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import is_bare, name_node
from gi_cuda.grammar.frontends.cuda.transforms.code import NESTS, Code, Function, descend, is_nested
from gi_cuda.grammar.frontends.cuda.transforms.mapping.indices import (
    Index,
    declared_as,
    declared_names,
    indices,
    is_whole,
    parameter_names,
    sole_declarator,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.loops.bounds import Bound, read_bound
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import changes, pointers
from gi_cuda.grammar.frontends.cuda.transforms.reading.per_item.guards import (
    own_statements,
    read_guard,
)
from gi_cuda.grammar.splice import Splice, indent, is_first, replacing, splice
from gi_cuda.grammar.values import Type

_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\n]*|/\*[^\n]*\*/[ \t]*)?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Elementwise:
    """The parts of an elementwise kernel.

    Attributes:
        name: the variable that holds the index.
        type: its type as declared, without ``const``.
        declared: where the declaration has its name.
        used: a place where it is used.
        value: its first value, ``blockIdx.x * blockDim.x + threadIdx.x``.
        stride: what the index grows by in a loop: the number of threads that share the loop; else
            empty.
        bound: the test that the index is one of an item.
        others: further conditions of the guard, all of which have to hold.
        guard: the ``if`` or loop with the test.
        work: the statements of the work, in order.
        start, end: the span of the work with its comments.
        close: the end of the guard and its work.
        brace_below: whether the guard has its brace on a line by itself.
        serial: whether it is a loop of one thread, which goes on from item to item.
    """

    name: str
    type: str
    declared: Node
    used: Node
    value: Node
    stride: str
    bound: Bound
    others: tuple[Node, ...]
    guard: Node
    work: tuple[Node, ...]
    start: int
    end: int
    close: int
    brace_below: bool
    serial: bool = False

    @property
    def looped(self) -> bool:
        """Tell whether it is a loop."""
        return bool(self.stride) or self.serial

    def index_type(self, code: Code, kernel: Function) -> Type | None:
        """Return the type of the index; None where it is not certain."""
        return code.type(self.value if self.type == "auto" else self.used, kernel)

    def lines(self, code: Code, splices: Sequence[Splice]) -> list[str]:
        """Return the lines of the work, its first statement without indentation.

        Args:
            splices: changes of the work. A ``return`` becomes a ``continue`` as well.
        """
        first = next((one for one in self.work if is_first(code.text, one.start_byte)), None)
        margin = "" if first is None else indent(code.text, first.start_byte)
        leaving = [replacing(a, b, "continue;") for a, b in self._returns()]
        found = _spliced(code, self.start, self.end, [*splices, *leaving]).split("\n")
        return [_without(line.rstrip("\r"), margin) for line in found]

    def spliced(self, code: Code, node: Node, splices: Sequence[Splice]) -> str:
        """Return a part of the kernel with some changes."""
        return _spliced(code, node.start_byte, node.end_byte, splices)

    def _returns(self) -> Iterator[tuple[int, int]]:
        for one in self.work:
            for node in descend(one):
                if node.type == "return_statement":
                    yield node.start_byte, node.end_byte


def _spliced(code: Code, start: int, end: int, splices: Sequence[Splice]) -> str:
    moved = [
        one._replace(start=one.start - start, end=one.end - start)
        for one in splices
        if start <= one.start and one.end <= end
    ]
    return splice(code.text[start:end], moved)


def _without(line: str, margin: str) -> str:
    return line[len(margin) :] if line.startswith(margin) else line.lstrip(" \t")


def read_elementwise(code: Code, kernel: Function) -> Elementwise | None:
    """Read a kernel as an elementwise one.

    Its only index is along x, and is declared as a variable that never changes. All that uses it is
    under ``if (i < n) {...}``, the kernel's last statement, or after ``if (i >= n) return;``; or
    the kernel ends with a loop ``for (int i = INDEX; i < n; i += blockDim.x * gridDim.x) {...}``.
    Several items can be handled one after the other.
    """
    found = indices(code, kernel)
    if not found.plain or len(found.found) != 1 or not code.alone(kernel):
        return None
    index, own = found.found[0], own_statements(kernel.body)
    if index.axis != "x" or not is_whole(code, index) or not own:
        return None
    if found.strides:
        one = _looped(code, kernel, index, found.strides[0][1]) if len(found.strides) == 1 else None
    else:
        one = _single(code, kernel, index)
    if one is None or not _is_repeatable(code, kernel, one, own[: own.index(one.guard)]):
        return None
    return one


def _single(code: Code, kernel: Function, index: Index) -> Elementwise | None:
    """Read a kernel of which each thread has one item."""
    declared, own = declared_as(index), own_statements(kernel.body)
    if declared is None or declared[0] not in own:
        return None
    declaration, name = declared
    after = own[own.index(declaration) + 1 :]
    guard = next((one for one in after if code.span(name) in code.words(one)), None)
    if guard is None:
        return None
    part = _guarded(code, kernel, guard, code.span(name))
    return None if part is None else _assembled(code, kernel, declared, index.node, "", guard, part)


def _looped(code: Code, kernel: Function, index: Index, threads: Node) -> Elementwise | None:
    """Read a kernel that ends with a loop over the items that a thread has."""
    loop = own_statements(kernel.body)[-1]
    first, condition, step, body = (
        loop.child_by_field_name(one) for one in ("initializer", "condition", "update", "body")
    )
    declared = None if first is None else sole_declarator(first)
    if loop.type != "for_statement" or first is None or declared is None or condition is None:
        return None
    name_at = declared.child_by_field_name("declarator")
    name = "" if name_at is None else code.span(name_at)
    value, bound = declared.child_by_field_name("value"), read_bound(code, condition, name)
    if value is None or bound is None or not bound.from_above or body is None or step is None:
        return None
    target, operator, by = (step.child_by_field_name(k) for k in ("left", "operator", "right"))
    if target is None or operator is None or by is None or code.span(target) != name:
        return None
    if (
        operator.type != "+="
        or not _stands_for(code, kernel, by, threads)
        or not _is_thread_count(code, threads)
    ):
        return None
    if not _stands_for(code, kernel, value, index.node) or any(
        map(_leaves_kernel, own_statements(body))
    ):
        return None
    return of_loop(code, kernel, loop, value, code.span(by), bound)


def of_loop(
    code: Code, kernel: Function, loop: Node, value: Node, stride: str, bound: Bound
) -> Elementwise | None:
    """Put the parts of a loop over items together.

    Args:
        loop: a ``for`` statement that declares the index.
        value: the first index.
        stride: what the index grows by; empty where that is 1.
    """
    first, body = (loop.child_by_field_name(one) for one in ("initializer", "body"))
    declared = None if first is None else sole_declarator(first)
    name = None if declared is None else declared.child_by_field_name("declarator")
    if first is None or name is None or body is None:
        return None
    block = body.type == "compound_statement"
    below = block and is_first(code.text, body.start_byte)
    part = _Part(bound, (), tuple(own_statements(body)), body, below)
    if not part.work:
        return None
    found = _assembled(code, kernel, (first, name), value, stride, loop, part)
    return None if found is None else replace(found, serial=not stride)


def _assembled(
    code: Code,
    kernel: Function,
    declared: tuple[Node, Node],
    value: Node,
    stride: str,
    guard: Node,
    part: _Part,
) -> Elementwise | None:
    """Put the parts together."""
    declaration, name = declared
    type_ = declaration.child_by_field_name("type")
    if type_ is None:
        return None
    condition = guard.child_by_field_name("condition")
    assert condition is not None, "an index is tested there"
    return Elementwise(
        code.span(name),
        code.span(type_),
        name,
        next(one for one in descend(condition) if code.span(one) == code.span(name)),
        value,
        stride,
        part.bound,
        part.others,
        guard,
        part.work,
        *_span(code, kernel, guard, part),
        part.brace_below,
    )


def _stands_for(code: Code, kernel: Function, node: Node, meant: Node) -> bool:
    """Tell whether a node is the one meant, or a variable of its value that never changes."""
    if node == meant:
        return True
    above = meant.parent
    if node.type != "identifier" or above is None or above.type != "init_declarator":
        return False
    name = above.child_by_field_name("declarator")
    if name is None or code.span(name) != code.span(node):
        return False
    names = list(declared_names(kernel.body, code))
    return names.count(code.span(node)) == 1 and (
        code.span(node) not in changes(code, kernel.body).all
    )


def _is_thread_count(code: Code, product: Node) -> bool:
    """Tell whether a product is the number of all threads, and has no other factors."""
    nodes = list(descend(product))
    named = {code.span(one) for one in nodes if one.type == "identifier"}
    return named == {"blockDim", "gridDim"} and not any(n.type == "number_literal" for n in nodes)


def _leaves_kernel(node: Node) -> bool:
    """Tell whether a statement of a loop may leave the loop, other than by ``continue``."""
    if node.type in ("return_statement", "break_statement"):
        return True
    if node.type in NESTS:
        return any(one.type == "return_statement" for one in descend(node))
    return any(map(_leaves_kernel, node.children))


class _Part(NamedTuple):
    """A guard and what it guards.

    Attributes:
        bound: the test of the index.
        others: its other conditions.
        work: the statements that it guards.
        body: the block or statement of the ``if``; None where the work follows a ``return``.
        brace_below: whether the brace of the block is on a line by itself.
    """

    bound: Bound
    others: tuple[Node, ...]
    work: tuple[Node, ...]
    body: Node | None
    brace_below: bool = False


def _guarded(code: Code, kernel: Function, guard: Node, name: str) -> _Part | None:
    """Read a guard and what it guards."""
    found = read_guard(kernel.body, guard)
    if found is None:
        return None
    if found.returns:
        bound = read_bound(code, found.conditions[0], name)
        if bound is None or bound.from_above or len(found.conditions) > 1:
            return None
        return _Part(bound.negated, (), found.work, None)
    for one in found.conditions:
        bound = read_bound(code, one, name)
        if bound is not None and bound.from_above:
            others = tuple(other for other in found.conditions if other != one)
            block = found.body.type == "compound_statement"
            below = block and is_first(code.text, found.body.start_byte)
            return _Part(bound, others, found.work, found.body, below)
    return None


def _span(code: Code, kernel: Function, guard: Node, part: _Part) -> tuple[int, int, int]:
    """Find where the work with its comments begins and ends, and where the guard ends."""
    text = code.text
    if part.body is not None and part.body.type != "compound_statement":
        return part.body.start_byte, part.body.end_byte, guard.end_byte
    if part.body is not None:
        start, end, close = part.body.start_byte + 1, part.body.end_byte - 1, guard.end_byte
    else:
        rest = _REST_OF_LINE.match(text, guard.end_byte)
        start = guard.end_byte if rest is None else rest.end()
        end = close = kernel.body.end_byte - 1
    start = end - len(text[start:end].lstrip())
    end = start + len(text[start:end].rstrip())
    return start, end, min(close, end) if part.body is None else close


def _is_repeatable(code: Code, kernel: Function, one: Elementwise, before: Sequence[Node]) -> bool:
    """Tell whether a thread can do the work for several items, one after the other."""
    body = kernel.body
    if any(node.type == "lambda_expression" for node in descend(body)) or code.opaque(body):
        return False
    names = list(declared_names(body, code))
    changed = changes(code, *one.work, *one.others).all
    if names.count(one.name) != 1 or ({one.name} | one.bound.words) & changed:
        return False
    if any(is_nested(node, body) for node in _returns(one.work)):
        return False
    return not _carried(code, kernel, one.work, before)


def _returns(work: Sequence[Node]) -> Iterator[Node]:
    return (node for one in work for node in descend(one) if node.type == "return_statement")


def _carried(code: Code, kernel: Function, work: Sequence[Node], before: Sequence[Node]) -> bool:
    """Tell whether an item reads a variable that the item before it has set."""
    changed = changes(code, *work)
    own = {name for one in work for name in declared_names(one, code)}
    bare = {
        code.span(name)
        for statement in before
        for node in descend(statement)
        if node.type == "declaration"
        for declarator in node.children_by_field_name("declarator")
        if (name := name_node(declarator)) is not None and is_bare(node, name)
    }
    outer = {name for one in before for name in declared_names(one, code)} | parameter_names(
        code, kernel
    )
    led = {one.name for one in pointers(code, kernel)}
    kept = (changed.whole | (changed.inner - led)) & outer - own
    return bool(kept - (bare - changes(code, *before).all))
