"""Reader of a function's statements; makes its rules and loops.

Each kind of statement has a reader method; the module `names` reads names. To add a rule type, make
its rules in the reader of its construct.
"""

from __future__ import annotations

from collections.abc import Iterable

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.declarations.names import (
    NAME_READERS,
    NameReader,
    NodePlace,
    Pending,
)
from gi_cuda.grammar.frontends.cuda.rules.findings import LoopDraft, RuleDraft
from gi_cuda.grammar.frontends.cuda.text.syntax import CONDITIONAL_TEXT
from gi_cuda.grammar.rule_types import RuleType


class BodyReader(NameReader):
    """Reads the body of one function that evolves, and adds its rules to ``findings``."""

    def block(self, node: Node, place: NodePlace) -> Pending:
        return self._sequence(node.children, NodePlace(node.end_byte, rules=place.rules))

    def conditional_text(self, node: Node, place: NodePlace) -> Pending:
        """Read the text under an ``#if`` or similar as if the directive were not there."""
        skipped = node.child_by_field_name("condition") or node.child_by_field_name("name")
        return self._sequence([child for child in node.children if child != skipped], place)

    def _sequence(self, children: Iterable[Node], place: NodePlace) -> Pending:
        broken = False
        for child in children:
            if child.type == "preproc_include":
                continue
            yield child, place._replace(block=place.block and not broken)
            broken = child.has_error and child.is_named

    def case(self, node: Node, place: NodePlace) -> Pending:
        value = node.child_by_field_name("value")
        first = True
        for child in node.children:
            if child == value:
                yield child, place._replace(rules=False)
            elif child.is_named:
                yield child, place._replace(block=place.block and not first)
                first = False

    def passage(self, node: Node, place: NodePlace) -> Pending:
        """Read a construct that contains one statement or separate blocks (a label, ``try``)."""
        return [(child, place._replace(block=False)) for child in node.named_children]

    def labelled(self, node: Node, place: NodePlace) -> Pending:
        self.findings.labels.append(node.start_byte)
        return self.passage(node, place)

    def handler(self, node: Node, place: NodePlace) -> Pending:
        return self.passage(node, place._replace(end=node.end_byte))

    def if_(self, node: Node, place: NodePlace) -> Pending:
        clause = node.child_by_field_name("condition")
        fixed = any(child.type == "constexpr" for child in node.children)
        inside = place._replace(end=node.end_byte, block=False)
        otherwise = node.child_by_field_name("alternative")
        if clause is not None:
            condition = clause.child_by_field_name("value")
            if condition is not None:
                if not fixed:
                    self._rule(RuleType.IF, condition, place)
                self.findings.exits.append(
                    (condition.start_byte, condition.end_byte, node.start_byte, node.end_byte)
                )
            yield clause, inside._replace(rules=False)
        body = node.child_by_field_name("consequence")
        if body is not None:
            if fixed:
                self._own_name(body)
            yield body, inside._replace(dangling=place.dangling or otherwise is not None)
        if otherwise is not None:
            if fixed:
                self._own_name(otherwise)
            yield otherwise, inside

    def else_(self, node: Node, place: NodePlace) -> Pending:
        self._rule(RuleType.ELSE, node, place._replace(block=not place.dangling))
        return [(child, place._replace(block=False)) for child in node.named_children]

    def for_(self, node: Node, place: NodePlace) -> Pending:
        inside = place._replace(end=node.end_byte, block=False)
        body = node.child_by_field_name("body")
        condition = node.child_by_field_name("condition")
        start = self._pragma(node, place)
        self._before(node, start, place)
        header = []
        for kind, part in (
            (RuleType.FOR1, node.child_by_field_name("initializer")),
            (RuleType.FOR2, condition),
            (RuleType.FOR3, node.child_by_field_name("update")),
        ):
            if part is not None and self._rule(kind, part, place):
                header.append((kind, part.start_byte))
        span: tuple[int, int] | None
        if condition is not None:
            span = (condition.start_byte, condition.end_byte)
        else:
            stops = [child.start_byte for child in node.children if child.type == ";"]
            span = (stops[-1], stops[-1]) if stops else None
        self._loop(node, start, condition, span, header, place)
        for child in node.named_children:
            yield child, inside if child == body else inside._replace(rules=False)

    def while_(self, node: Node, place: NodePlace) -> Pending:
        """Read a ``while`` or ``do``: a loop with nothing but a condition."""
        inside = place._replace(end=node.end_byte, block=False)
        if node.type == "do_statement":
            inside = inside._replace(dangling=False)
        body = node.child_by_field_name("body")
        clause = node.child_by_field_name("condition")
        condition = clause.child_by_field_name("value") if clause is not None else None
        if condition is None and clause is not None:
            condition = next(iter(clause.named_children), None)
        span = None if condition is None else (condition.start_byte, condition.end_byte)
        self._before(node, node.start_byte, place)
        self._loop(node, node.start_byte, condition, span, [], place)
        for child in node.named_children:
            yield child, inside if child == body else inside._replace(rules=False)

    def for_each(self, node: Node, place: NodePlace) -> Pending:
        inside = place._replace(end=node.end_byte, block=False)
        body = node.child_by_field_name("body")
        declared = node.child_by_field_name("declarator")
        if declared is not None:
            self.findings.declare_all(node, node.end_byte, self.function)
        self._around(node, "break", "continue")
        for child in node.named_children:
            yield child, inside if child == body else inside._replace(rules=False)

    def switch(self, node: Node, place: NodePlace) -> Pending:
        inside = place._replace(end=node.end_byte, block=False)
        body = node.child_by_field_name("body")
        self._around(node, "break")
        for child in node.named_children:
            yield child, inside if child == body else inside._replace(rules=False)

    def macro_headed(self, node: Node, place: NodePlace) -> Pending:
        """Read a block after a macro call, which may be a loop with its own variables."""
        head, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        if head is None or body is None or node.child_by_field_name("type") is not None:
            return self._within(node, place)
        start, end = head.start_byte, head.end_byte
        self.findings.use_words(start, end)
        self.findings.declare_opaque(start, end, node.end_byte, self.function)
        self._around(node, "break", "continue")
        return [(body, place._replace(block=False))]

    def simple(self, node: Node, place: NodePlace) -> Pending:
        expression = next(iter(node.named_children), None)
        if expression is None:
            return []
        if may_declare(expression):
            self._opaque(expression, place)
        else:
            self._rule(RuleType.STATEMENT, node, place)
        if node.has_error:
            self._opaque(node, place)
        return [(expression, place._replace(rules=False))]

    def jump(self, node: Node, place: NodePlace) -> Pending:
        self.findings.jumps.append(node.start_byte)
        keyword = node.type.removesuffix("_statement")
        self.findings.use(keyword, node.start_byte)
        return [(child, place._replace(rules=False)) for child in node.named_children]

    # -- shared -----------------------------------------------------------------------------

    def _rule(self, kind: RuleType, node: Node, place: NodePlace) -> bool:
        """Make a rule of a node unless it must stay fixed; says whether it did."""
        findings = self.findings
        if not place.rules or node.has_error:
            return False
        end = node.end_byte
        if kind is RuleType.FOR1 and node.type == "declaration":
            end = findings.text.rindex(";", node.start_byte, end)
        elif node.type == "declaration":
            return False
        if not findings.presence.is_whole(node.start_byte, end):
            return False
        if findings.macros.opaque_in(findings.span(node)):
            return False
        if kind is RuleType.STATEMENT and node.start_byte in findings.reading.exposed:
            place = place._replace(block=False)
        findings.rules.append(RuleDraft(kind, node.start_byte, end, self.function, place.block))
        return True

    def _pragma(self, loop: Node, place: NodePlace) -> int:
        """Make the unroll rule of a ``for``; return the start of the loop with its pragma."""
        if not place.rules:
            return loop.start_byte
        start = end = loop.start_byte
        before = self.findings.pragma_before(loop.start_byte)
        if before is not None:
            start, end = before
        self.findings.rules.append(RuleDraft(RuleType.PRAGMA, start, end, self.function))
        return start

    def _before(self, loop: Node, start: int, place: NodePlace) -> None:
        """Make a rule of the place before a loop, if statements can be inserted there.

        Args:
            start: start of the loop with its pragma.
        """
        findings = self.findings
        in_block = place.block and {start, loop.start_byte}.isdisjoint(findings.reading.exposed)
        if place.rules and in_block and findings.presence.is_whole(start, loop.end_byte):
            findings.rules.append(RuleDraft(RuleType.LOOP, start, start, self.function))

    def _loop(
        self,
        node: Node,
        start: int,
        condition: Node | None,
        span: tuple[int, int] | None,
        header: list[tuple[RuleType, int]],
        place: NodePlace,
    ) -> None:
        self._around(node, "break", "continue")
        broken = span is None or (
            condition is not None and (condition.has_error or condition.type == "declaration")
        )
        if not place.rules or broken or span is None:
            return
        if not self.findings.presence.is_whole(start, node.end_byte):
            return
        endless = condition is None or condition.type in ("true", "number_literal")
        self.findings.loops.append(
            LoopDraft(
                start,
                node.start_byte,
                node.end_byte,
                span,
                tuple(header),
                endless,
                _header_parts(node),
            )
        )

    def _own_name(self, branch: Node) -> None:
        """Keep a template's recursive call inside the ``if constexpr`` that ends the recursion."""
        start, end = branch.start_byte, branch.end_byte
        self.findings.declare(self.function_name, "", start, end, self.function)

    def _around(self, node: Node, *jumps: str) -> None:
        for jump in jumps:
            start, end = node.start_byte, node.end_byte
            self.findings.declare(jump, jump, start, end, self.function)


def _header_parts(loop: Node) -> tuple[tuple[int, int], ...]:
    names = ("initializer", "condition", "update")
    parts = [part for name in names if (part := loop.child_by_field_name(name)) is not None]
    return tuple((part.start_byte, part.end_byte) for part in parts)


def may_declare(expression: Node) -> bool:
    """Tell whether a statement parsed as an expression may be a declaration.

    Examples: ``T * b;``, ``T<3> b = c;``, ``T (*b)[4] = c;``, ``T (*b)(int) = c;``.
    """
    if expression.type == "binary_expression":
        operator = expression.child_by_field_name("operator")
        return operator is not None and operator.type in _LIKE_DECLARATORS
    called: Node | None = expression
    while called is not None:
        inner = called.child_by_field_name(_LEFTMOST.get(called.type, ""))
        if called.type == "call_expression" and inner is not None:
            arguments = called.child_by_field_name("arguments")
            if inner.type == "primitive_type" or _is_declarator(arguments):
                return True
        called = inner
    return False


_LIKE_DECLARATORS = frozenset({"*", "&", "&&", ">"})
_LEFTMOST = {
    "assignment_expression": "left",
    "subscript_expression": "argument",
    "call_expression": "function",
}


def _is_declarator(arguments: Node | None) -> bool:
    """Tell whether arguments may be a declarator ``(*name)``.

    They may if they consist of one pointer expression, and a subscript, call or assignment follows.
    """
    if arguments is None or arguments.named_child_count != 1:
        return False
    only, around = arguments.named_children[0], arguments.parent
    outer = None if around is None else around.parent
    return (
        only.type == "pointer_expression"
        and outer is not None
        and outer.type in ("subscript_expression", "call_expression", "assignment_expression")
    )


BodyReader.readers = {
    **NAME_READERS,
    "compound_statement": BodyReader.block,
    "function_definition": BodyReader.macro_headed,
    **dict.fromkeys(CONDITIONAL_TEXT, BodyReader.conditional_text),
    "case_statement": BodyReader.case,
    "labeled_statement": BodyReader.labelled,
    "attributed_statement": BodyReader.passage,
    "try_statement": BodyReader.passage,
    "catch_clause": BodyReader.handler,
    "if_statement": BodyReader.if_,
    "else_clause": BodyReader.else_,
    "for_statement": BodyReader.for_,
    "while_statement": BodyReader.while_,
    "do_statement": BodyReader.while_,
    "for_range_loop": BodyReader.for_each,
    "switch_statement": BodyReader.switch,
    "expression_statement": BodyReader.simple,
    **{f"{word}_statement": BodyReader.jump for word in ("return", "break", "continue", "goto")},
}
