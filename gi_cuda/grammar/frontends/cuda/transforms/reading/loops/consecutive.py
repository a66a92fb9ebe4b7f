"""Loops in which a thread can handle several neighbouring items in one turn."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.syntax import parts
from gi_cuda.grammar.frontends.cuda.transforms.code import (
    LOOPS,
    TOGETHER,
    Code,
    Function,
    descend,
    geometry,
    holds,
)
from gi_cuda.grammar.frontends.cuda.transforms.mapping.indices import (
    declared_names,
    sole_declarator,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.arithmetic import operator as operator_of
from gi_cuda.grammar.frontends.cuda.transforms.reading.derived import derived
from gi_cuda.grammar.frontends.cuda.transforms.reading.loops.bounds import read_bound
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import without_casts
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import (
    accesses,
    changes,
    is_invariant,
    leaves,
    meetings,
)
from gi_cuda.grammar.frontends.cuda.transforms.reading.per_item.elementwise import (
    Elementwise,
    of_loop,
)

_BARRIER = re.compile(r"__syncthreads|\bsync\b")
_NUMBERS = frozenset({"threadIdx", "blockIdx"})
_DECLARATORS = frozenset({"array_declarator", "pointer_declarator"})
_UNREAD = frozenset({*LOOPS, "lambda_expression", "labeled_statement", "switch_statement"})


def read_turns(code: Code, kernel: Function, node: Node) -> Elementwise | None:
    """Read a loop over items, ``for (int i = first; i < n; i += step)``, of which a thread can
    handle neighbours together.

    Either it is a loop of one thread, with step 1. Or threads share it: it begins with the
    number of the thread, and goes on by the number of threads; which thread handles an item must
    not matter then to the code around the loop.
    """
    begin, condition, update, body = (
        node.child_by_field_name(one) for one in ("initializer", "condition", "update", "body")
    )
    declared = None if begin is None else sole_declarator(begin)
    if node.has_error or code.hidden(kernel):
        return None
    if declared is None or condition is None or update is None or body is None:
        return None
    name, start = (declared.child_by_field_name(one) for one in ("declarator", "value"))
    if name is None or name.type != "identifier" or start is None:
        return None
    bound, step = read_bound(code, condition, code.span(name)), _step(code, update, name)
    if bound is None or not bound.from_above or step is None or not _is_plain(code, body):
        return None
    steady = _names(code, condition, start, update)
    if steady & (changes(code, body).all | frozenset(declared_names(body, code))):
        return None
    by = step if step != update else None
    if by is not None and not (
        _is_number(code, kernel, start)
        and _is_count(code, kernel, by)
        and _is_free(code, kernel, node)
    ):
        return None
    return of_loop(code, kernel, node, start, "" if by is None else code.span(by), bound)


def _step(code: Code, update: Node, name: Node) -> Node | None:
    """Return what an update adds to a variable: the update itself where it is 1."""
    operator = update.child_by_field_name("operator")
    sign = "" if operator is None else code.span(operator)
    changed = update.child_by_field_name("argument") or update.child_by_field_name("left")
    by = update.child_by_field_name("right") or update
    if changed is None or by is None or code.span(changed) != code.span(name):
        return None
    if sign == "++" or (sign == "+=" and code.span(by) == "1"):
        return update
    if sign == "=" and operator_of(by) == "+":
        others = [one for one in by.named_children if code.span(one) != code.span(name)]
        return others[0] if len(others) == 1 and code.span(others[0]) != "1" else None
    return by if sign == "+=" else None


def _names(code: Code, *nodes: Node) -> frozenset[str]:
    """Return the variables that some expressions mention, members of structures apart."""
    found = [one for node in nodes for one in descend(node) if one.type == "identifier"]
    return frozenset[str]().union(*(code.words(one) for one in found))


def _is_plain(code: Code, body: Node) -> bool:
    """Tell whether the body of a loop neither waits for other threads nor leaves the loop, nor has
    a loop itself."""
    words = code.words(body)
    called = (one.node for one in code.functions if not one.kernel and one.name in words)
    if any(TOGETHER.search(code.bare(one)) for one in (body, *called)) or code.opaque(body):
        return False
    nodes = descend(body)
    if leaves(body) or any(one.type in _UNREAD or one.type.startswith("pre") for one in nodes):
        return False
    return all(word.startswith("atomic") for word in meetings(code, body))


def _is_count(code: Code, kernel: Function, step: Node) -> bool:
    """Tell whether an expression may be the number of the threads that share a loop. With a number
    as a factor, a turn may have two items already."""
    if _names(code, step) & derived(code, kernel, _NUMBERS):
        return False
    values = [step, *_values(code, kernel, step)]
    return not any(
        inner.type == "number_literal" and inner != one for one in values for inner in descend(one)
    )


def _values(code: Code, kernel: Function, node: Node) -> Iterator[Node]:
    """Return the value of a variable that never changes, if an expression is one."""
    word = code.span(node)
    if node.type != "identifier" or declared_names(kernel.body, code).count(word) != 1:
        return
    if word in changes(code, kernel.body).whole:
        return
    for one in descend(kernel.body):
        if one.type == "init_declarator":
            name, value = (one.child_by_field_name(k) for k in ("declarator", "value"))
            if name is not None and value is not None and code.span(name) == word:
                yield value


def _is_number(code: Code, kernel: Function, node: Node) -> bool:
    """Tell whether an expression numbers the threads that share a loop: ``threadIdx.x``,
    ``threadIdx.x % 32``, or ``threadIdx.y * blockDim.x + threadIdx.x``. Where blocks share one,
    each leaves the sum of other items."""
    node = without_casts(node)
    if node.type == "identifier":
        return any(_is_number(code, kernel, one) for one in _values(code, kernel, node))
    if geometry(node, code.text) == ("threadIdx", "x"):
        return True
    if node.type == "call_expression":
        return code.span(node).endswith(".thread_rank()")
    operator = node.child_by_field_name("operator")
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if node.type != "binary_expression" or operator is None or left is None or right is None:
        return False
    if operator.type in ("%", "&"):
        return _is_number(code, kernel, left) and not _names(code, right) & _NUMBERS
    pairs = (left, right), (right, left)
    return operator.type == "+" and any(
        geometry(without_casts(one), code.text) == ("threadIdx", "x") and _is_row(code, other)
        for one, other in pairs
    )


def _is_row(code: Code, node: Node) -> bool:
    """Tell whether an expression is ``threadIdx.y * blockDim.x``."""
    factors = [geometry(without_casts(one), code.text) for one in without_casts(node).children]
    return {one for one in factors if one} == {("threadIdx", "y"), ("blockDim", "x")}


def _is_free(code: Code, kernel: Function, loop: Node) -> bool:
    """Tell whether it does not matter to the code around a loop which thread handles an item: no
    turn leaves anything in an array of its thread, and where memory that the loop accesses is
    accessed elsewhere, a barrier stands between unless all only read it."""
    inside, everywhere = changes(code, loop).inner, changes(code, kernel.body).inner
    for word in sorted(code.words(loop) - frozenset(declared_names(loop, code))):
        nodes = [one for one in descend(kernel.body) if _is_named(code, one, word)]
        used = next((one for one in nodes if holds(loop, one)), None)
        type_ = code.declared_type(used, kernel)
        if type_ is None or not type_.levels or not _is_by_items(code, loop, word):
            continue
        private = type_.levels[0] != "*" and not _is_shared(code, kernel, word)
        if private and word in inside:
            return False
        others = [one for one in nodes if not holds(loop, one)]
        if word not in inside:
            others = [one for one in others if word in everywhere or _is_passed(one)]
        if not all(_is_apart(code, kernel, loop, one) for one in others):
            return False
    return True


def _is_named(code: Code, node: Node, word: str) -> bool:
    """Tell whether a node is a use of a variable, not its declaration as an array or pointer."""
    declared = node.parent is not None and node.parent.type in _DECLARATORS
    return node.type == "identifier" and code.span(node) == word and not declared


def _is_by_items(code: Code, loop: Node, name: str) -> bool:
    """Tell whether a loop accesses elements of an array or pointer that depend on the item."""
    own, found = frozenset(declared_names(loop, code)), accesses(code, loop, name)
    return found is None or any(_names(code, one.element) & own for one in found)


def _is_shared(code: Code, kernel: Function, array: str) -> bool:
    """Tell whether an array is declared in shared memory."""
    found = (one for one in descend(kernel.body) if one.type == "declaration")
    return any(
        "__shared__" in code.words(one) and array in declared_names(one, code) for one in found
    )


def _is_passed(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "argument_list"


def _is_apart(code: Code, kernel: Function, loop: Node, other: Node) -> bool:
    """Tell whether a barrier stands between a loop and another place, whichever is reached first:
    both may be in a loop around them."""
    first, last = sorted((loop, other), key=lambda one: one.start_byte)
    around: Node | None = loop.parent
    while around is not None and not (around.type in LOOPS and holds(around, other)):
        around = around.parent if around != kernel.body else None
    bare, begin = code.bare(kernel.body), kernel.body.start_byte

    def has_barrier(start: int, end: int) -> bool:
        return _BARRIER.search(bare, start - begin, end - begin) is not None

    apart = has_barrier(first.end_byte, last.start_byte)
    if around is None or not apart:
        return apart
    return has_barrier(last.end_byte, around.end_byte) or has_barrier(
        around.start_byte, first.start_byte
    )


class Offsets:
    """The offsets of the elements that a loop's items access.

    Args:
        code: the code.
        kernel: the kernel.
        loop: a ``for`` statement.
        name: name of its variable.
    """

    def __init__(self, code: Code, kernel: Function, loop: Node, name: str) -> None:
        self._code, self._kernel, self._loop, self._name = code, kernel, loop, name
        self._declared = declared_names(loop, code)
        self._changed = changes(code, loop)

    def of(self, element: Node) -> str | None:
        """Return what is added to an item's number in the index of an element, "" for nothing.

        Example: ``row * n`` for ``a[row * n + i]``, also where ``int k = row * n + i;`` in the
        loop is the index. None where the index is another one.
        """
        inner = parts(element.child_by_field_name("indices"))
        return self._added(inner[0]) if len(inner) == 1 else None

    def _added(self, node: Node) -> str | None:
        node = without_casts(node)
        if node.type == "identifier":
            if self._code.span(node) == self._name:
                return ""
            value = self._value(node)
            return None if value is None else self._added(value)
        operator = node.child_by_field_name("operator")
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if node.type != "binary_expression" or operator is None or left is None or right is None:
            return None
        if operator.type != "+":
            return None
        for one, other in ((left, right), (right, left)):
            if self._stays(other) and (rest := self._added(one)) is not None:
                text = self._code.span(other)
                return f"{text} + {rest}" if rest else text
        return None

    def _value(self, name: Node) -> Node | None:
        """Return the value of a variable that the loop declares, and never changes."""
        word = self._code.span(name)
        if self._declared.count(word) != 1 or word in self._changed.all:
            return None
        found = (one for one in descend(self._loop) if one.type == "init_declarator")
        for one in found:
            declarator = one.child_by_field_name("declarator")
            if declarator is not None and self._code.span(declarator) == word:
                return one.child_by_field_name("value")
        return None

    def _stays(self, node: Node) -> bool:
        """Tell whether an expression is the same in all turns."""
        if _names(self._code, node) & {*self._declared, *self._changed.all}:
            return False
        return is_invariant(self._code, self._kernel, self._loop, self._changed, node)
