"""Border tests: a loop without them for the threads whose work lies inside the data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.functions import function_declarator
from gi_cuda.grammar.frontends.cuda.syntax import name_node, parts
from gi_cuda.grammar.frontends.cuda.transforms.code import (
    TOGETHER,
    Code,
    Function,
    descend,
    statements,
)
from gi_cuda.grammar.frontends.cuda.transforms.family import Family, Rewrite, Site
from gi_cuda.grammar.frontends.cuda.transforms.indices import declared_names
from gi_cuda.grammar.frontends.cuda.transforms.reading.arithmetic import literal_value, operator
from gi_cuda.grammar.frontends.cuda.transforms.reading.bounds import MIRRORED, Bound
from gi_cuda.grammar.frontends.cuda.transforms.reading.callees import called_name
from gi_cuda.grammar.frontends.cuda.transforms.reading.lvalues import unparenthesized
from gi_cuda.grammar.frontends.cuda.transforms.reading.memory import called_in
from gi_cuda.grammar.frontends.cuda.transforms.reading.sums import (
    SumReader,
    extremes,
    has_counter,
    written,
)
from gi_cuda.grammar.frontends.cuda.transforms.writing.around import around
from gi_cuda.grammar.frontends.cuda.transforms.writing.layout import indented, unit
from gi_cuda.grammar.frontends.cuda.transforms.writing.loop_text import (
    with_lines_around,
    with_pragmas,
)
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import (
    Splice,
    indent,
    is_first,
    line_start,
    newline,
    removing,
    replacing,
    splice,
)

_CLAMPS = {"max": ">=", "min": "<="}
_UNREAD = frozenset(
    {"lambda_expression", "try_statement", "labeled_statement", "goto_statement", "ERROR"}
)
_LOOSE = frozenset(
    {
        *("argument_list", "parenthesized_expression", "init_declarator", "return_statement"),
        *("assignment_expression", "expression_statement", "subscript_argument_list"),
    }
)
"""Nodes in which an expression needs no parentheses."""

_TERMS = frozenset(
    {
        *("identifier", "number_literal", "subscript_expression", "field_expression"),
        *("call_expression", "parenthesized_expression"),
    }
)
_REST = re.compile(r"[ \t]*(?://[^\n]*)?(?:\r?\n|$)")
_DIRECTIVE = re.compile(r"^[ \t]*#(?![ \t]*pragma\b)", re.MULTILINE)
_LONGEST = 4000
_WIDEST = 90


class Border(Family):
    """``<border_kernel.cu_9><border_K>`` runs a loop without its border tests where these have
    nothing to do.

    Before and after::

        for (int i = -R; i <= R; i++)
            sum += in[min(max(x + i, 0), w - 1)];

        if (x - R >= 0 && x + R <= w - 1) {
            for (int i = -R; i <= R; i++)
                sum += in[x + i];
        } else {
            for (int i = -R; i <= R; i++)
                sum += in[min(max(x + i, 0), w - 1)];
        }

    A test compares a sum of a position and loop counters with a number that the loop leaves as it
    is. All are signed integers. Under the new condition each test is known for all iterations, and
    each ``min`` and ``max`` returns the sum.
    """

    type = RuleType.BORDER

    def sites(self, code: Code) -> Iterator[Site]:
        """Find the outermost loops with such tests."""
        for function in code.functions:
            end = 0
            for loop in _loops(function):
                if loop.start_byte >= end and _interior(code, function, loop) is not None:
                    end = loop.end_byte
                    yield Site(loop.start_byte, function.number, tuple(self.type.kind.specials))

    def rewrite(self, code: Code, at: int, choice: str) -> Rewrite | None:
        """Put a copy of the loop without tests in front of it, with the condition for the copy."""
        for function in code.functions:
            for loop in _loops(function):
                if loop.start_byte == at and (found := _interior(code, function, loop)):
                    return Rewrite(tuple(_rewritten(code, function, loop, found)))
        return None


def _loops(function: Function) -> Iterator[Node]:
    return (one for one in descend(function.body) if one.type == "for_statement")


def _interior(code: Code, function: Function, loop: Node) -> _Interior | None:
    """Read what a loop is without its border tests; None if it has none, or cannot be copied."""
    text = code.span(loop)
    if len(text) > _LONGEST or _DIRECTIVE.search(text) or around(code, loop, (), ()) is None:
        return None
    if code.opaque(loop) or any(one.type in _UNREAD for one in descend(loop)):
        return None
    pieces = (loop, *(one.node for one in called_in(code, loop)))
    if any(TOGETHER.search(code.bare(one)) for one in pieces):
        return None
    found = _Interior(code, function, SumReader(code, function, loop))
    body = loop.child_by_field_name("body")
    if body is None or not found.sums.counts:
        return None
    for node in sorted(descend(body), key=lambda one: (one.end_byte, -one.start_byte)):
        found.simplify(node)
    return found if found.guards and found.sums.untaken <= found.gone else None


@dataclass(slots=True)
class _Interior:
    """A loop without its border tests, as far as its nodes were read.

    Attributes:
        code: the source.
        function: the function with the loop.
        sums: the reader of its sums.
        guards: the conditions under which the tests have nothing to do, in order.
        splices: the changes of the loop's text.
        gone: the ``if`` statements by ``Node.id`` that are never entered.
    """

    code: Code
    function: Function
    sums: SumReader
    guards: dict[str, None] = field(default_factory=dict)
    splices: list[Splice] = field(default_factory=list)
    gone: set[int] = field(default_factory=set)

    def simplify(self, node: Node) -> None:
        """Simplify a node whose parts were simplified before."""
        if node.type == "call_expression":
            self._clamp(node)
        elif node.type in ("conditional_expression", "if_statement"):
            condition = node.child_by_field_name("condition")
            test = None if condition is None else self._test(condition)
            if test is None:
                return
            inside, guards, kept = test
            if kept:
                assert condition is not None
                sign = " && " if inside else " || "
                text = sign.join(self.code.span(one) for one in kept)
                self._replace(_bare_condition(condition), text)
            elif not (self._choose if node.type == "conditional_expression" else self._enter)(
                node, inside
            ):
                return
            self.guards |= dict.fromkeys(guards)

    def _clamp(self, call: Node) -> None:
        """Make ``min(x + i, w - 1)`` and ``clamp(x + i, 0, w - 1)`` their sum."""
        code, name = self.code, called_name(self.code, call) or ""
        arguments = parts(call.child_by_field_name("arguments"))
        types = {code.type(one, self.function) for one in arguments}
        if len(types) != 1 or code.type(call, self.function) not in (None, *types):
            return
        if not _is_known(code, name, len(arguments)):
            return
        item, *limits = arguments
        signs: tuple[str, ...] = (">=", "<=") if name == "clamp" else (_CLAMPS[name],)
        if len(limits) == 1 and not self._bounds(item, limits[0], signs[0]):
            item, limits = limits[0], [item]
        guards = [self._bounds(item, *one) for one in zip(limits, signs, strict=True)]
        if all(guards):
            self.sums.same[call.id] = item
            self._put(call, item)
            self.guards |= dict.fromkeys(one for each in guards for one in each)

    def _bounds(self, item: Node, limit: Node, sign: str, *, mirrored: bool = False) -> list[str]:
        """Return the conditions under which a comparison holds in all iterations; none where the
        item is no sum of a position and counters."""
        before = set(self.sums.untaken)
        terms, fixed = self.sums.read(item) or (), self.sums.read(limit)
        positioned = any(one.position for one in terms)
        if fixed is None or not positioned or not has_counter(terms) or has_counter(fixed):
            self.sums.untaken = before
            return []
        bound = Bound(sign, written(fixed), mirrored)
        return [bound.of(written(one)) for one in extremes(terms, upper=bound.from_above)]

    def _compared(self, node: Node) -> tuple[bool, list[str]] | None:
        """Read one comparison: whether it holds inside, and the conditions of that."""
        node = unparenthesized(node)
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if operator(node) not in MIRRORED or left is None or right is None:
            return None
        for item, limit, sign in (
            (left, right, operator(node)),
            (right, left, MIRRORED[operator(node)]),
        ):
            value = literal_value(self.code, limit)
            low, mirrored = value is not None and value <= 1, item == right
            inside = (sign in ("<", "<=")) != low
            needed = sign if inside else Bound(sign, "", mirrored).negated.operator
            guards = self._bounds(item, limit, needed, mirrored=mirrored)
            if guards:
                return inside, guards
        return None

    def _test(self, condition: Node) -> tuple[bool, list[str], list[Node]] | None:
        """Read a condition: whether its border tests hold inside, what has to hold for that, and
        the other tests."""
        node = _bare_condition(condition)
        sign = operator(node) if operator(node) in ("&&", "||") else ""
        kept, guards, insides = [], list[str](), set[bool]()
        for one in _operands(node, sign):
            found = self._compared(one)
            if found is not None and found[0] == (sign == "&&" if sign else found[0]):
                insides.add(found[0])
                guards += found[1]
            else:
                kept.append(one)
        return (insides.pop(), guards, kept) if insides else None

    def _choose(self, node: Node, inside: bool) -> bool:
        """Make ``c ? a : b`` one of its values, if that has the same type."""
        code, function = self.code, self.function
        taken = node.child_by_field_name("consequence" if inside else "alternative")
        if taken is None or code.type(taken, function) is None:
            return False
        if code.type(taken, function) != code.type(node, function):
            return False
        if taken.type in ("assignment_expression", "comma_expression"):
            return False
        self.sums.same[node.id] = taken
        self._put(node, taken)
        return True

    def _enter(self, node: Node, inside: bool) -> bool:
        """Make an ``if`` one of its branches, or nothing."""
        text, above = self.code.text, node.parent
        taken = node.child_by_field_name("consequence" if inside else "alternative")
        if taken is not None and taken.type == "else_clause":
            taken = parts(taken)[-1]
        block = above is not None and above.type == "compound_statement"
        if taken is None:
            if block:
                self._drop(removing(text, node.start_byte, node.end_byte, _REST))
                self.gone.add(node.id)
            return block
        first, last = taken, taken
        if block and taken.type == "compound_statement" and self._is_opened(taken):
            first, last = taken.named_children[0], taken.named_children[-1]
            extra = indent(text, first.start_byte).removeprefix(indent(text, node.start_byte))
            at = line_start(text, last.end_byte)
            while at > first.start_byte:
                end = at + len(extra)
                free = all(o.end <= at or end <= o.start for o in self.splices)
                if free and text.startswith(indent(text, node.start_byte) + extra, at):
                    self.splices.append(replacing(at, end, ""))
                at = line_start(text, at - 1)
        self._drop(replacing(node.start_byte, first.start_byte, ""))
        self._drop(replacing(last.end_byte, node.end_byte, ""))
        return True

    def _is_opened(self, block: Node) -> bool:
        """Tell whether the statements of a block can do without braces."""
        names = list(declared_names(self.function.body, self.code))
        own = set(declared_names(block, self.code))
        return bool(statements(block)) and all(names.count(one) == 1 for one in own)

    def _put(self, node: Node, part: Node) -> None:
        """Put a part of an expression in its place."""
        above, whole = node.parent, part
        while whole.id in self.sums.same:
            whole = self.sums.same[whole.id]
        loose = above is None or above.type in _LOOSE or whole.type in _TERMS
        first, last = ("", "") if loose else ("(", ")")
        self._drop(replacing(node.start_byte, part.start_byte, first))
        self._drop(replacing(part.end_byte, node.end_byte, last))

    def _replace(self, node: Node, text: str) -> None:
        self._drop(replacing(node.start_byte, node.end_byte, text))

    def _drop(self, one: Splice) -> None:
        """Make a change that takes the place of all changes within it."""
        outside = [o for o in self.splices if o.end <= one.start or one.end <= o.start]
        self.splices = [*outside, one]


def _is_known(code: Code, name: str, arguments: int) -> bool:
    """Tell whether a function is ``min``, ``max``, or a ``clamp`` that does what its name says."""
    own = [one for one in code.functions if one.name == name]
    if name in code.macros or (own and name != "clamp"):
        return False
    if name != "clamp":
        return name in _CLAMPS and arguments == 2
    return arguments == 3 and all(_is_clamp(code, one) for one in own)


def _is_clamp(code: Code, function: Function) -> bool:
    """Tell whether a function is ``int clamp(int v, int a, int b) { return max(a, min(v, b)); }``,
    in whatever order the arguments of ``min`` and ``max`` are."""
    head = function_declarator(function.node)
    given = parts(None if head is None else head.child_by_field_name("parameters"))
    names = [name_node(one.child_by_field_name("declarator")) for one in given]
    types = {code.span(t) for one in given if (t := one.child_by_field_name("type"))}
    returned = function.node.child_by_field_name("type")
    if len(names) != 3 or None in names or returned is None or types != {code.span(returned)}:
        return False
    value, low, high = (code.span(one) for one in names if one is not None)
    body = "".join(code.bare(function.body).split())
    return body in {
        f"{{return{outer}({first},{second});}}"
        for outer, limit, inner, other in (("max", low, "min", high), ("min", high, "max", low))
        for nested in (f"{inner}({value},{other})", f"{inner}({other},{value})")
        for first, second in ((limit, nested), (nested, limit))
    }


def _bare_condition(condition: Node) -> Node:
    """Return a condition without the parentheses around it."""
    inner = parts(condition)[-1] if condition.type == "condition_clause" else condition
    return unparenthesized(inner)


def _operands(node: Node, sign: str) -> Iterator[Node]:
    """Return the conditions that an operator joins; the node where it joins none."""
    inner = unparenthesized(node)
    if sign and operator(inner) == sign:
        for side in ("left", "right"):
            if (child := inner.child_by_field_name(side)) is not None:
                yield from _operands(child, sign)
    else:
        yield node


def _rewritten(code: Code, function: Function, loop: Node, interior: _Interior) -> Iterator[Splice]:
    """Write both loops, each in its branch."""
    text, step = code.text, unit(code, function)
    start = with_pragmas(text, loop.start_byte)
    moved = (o._replace(start=o.start - start, end=o.end - start) for o in interior.splices)
    lines = splice(text[start : loop.end_byte], moved).split("\n")
    copy = "\n".join(step + line if line.strip() else line for line in lines)
    condition = " && ".join(interior.guards)
    margin = indent(text, loop.start_byte)
    if len(margin + condition) > _WIDEST:
        condition = f" &&{newline(text, start)}{margin}    ".join(interior.guards)
    ahead = margin.removeprefix(indent(text, start)) if is_first(text, start) else ""
    before = [f"{ahead}if ({condition}) {{", copy, "} else {"]
    yield from with_lines_around(code, [loop], before, ["}"], lead=step)
    if is_first(text, start):
        yield from indented(code, start, loop.end_byte, step)
