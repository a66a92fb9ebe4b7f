"""Rules within statements and conditions: WHILE, COND, rhs and op.

This is a second pass over the functions that evolve, once all declarations are known. It makes
rules only at places whose required type is certain; everything else stays fixed text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.rules.body import may_declare
from gi_cuda.grammar.frontends.cuda.rules.expressions import Around, ExpressionReader
from gi_cuda.grammar.frontends.cuda.text.syntax import CONDITIONAL_TEXT, name_node
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.values import Type

_FIXED_STORAGE = frozenset({"constexpr", "static", "extern", "constinit", "thread_local"})
_PASSED = CONDITIONAL_TEXT | {
    "compound_statement",
    "else_clause",
    "labeled_statement",
    "attributed_statement",
    "try_statement",
    "catch_clause",
    "for_range_loop",
    "function_definition",
}


class OperandReader(ExpressionReader):
    """Reads the expressions of functions whose statements have been read."""

    def read(self, body: Node, function: int) -> None:
        """Read one function's body."""
        stack = [body]
        while stack:
            node = stack.pop()
            if node.type in _PASSED:
                stack.extend(node.named_children)
            elif node.type == "case_statement":
                value = node.child_by_field_name("value")
                stack.extend(child for child in node.named_children if child != value)
            elif (reader := _STATEMENTS.get(node.type)) is not None:
                stack.extend(reader(self, node, Around(function)))

    # -- statements ---------------------------------------------------------------------------

    def _simple(self, node: Node, around: Around) -> Iterator[Node]:
        expression = next(iter(node.named_children), None)
        if expression is not None and not may_declare(expression) and self._is_plain(node):
            self.expressions(expression, around)
        return iter(())

    def _declaration(self, node: Node, around: Around) -> Iterator[Node]:
        kind = node.child_by_field_name("type")
        words = {self.findings.span(child) for child in node.children if child != kind}
        if kind is None or words & _FIXED_STORAGE or not self._is_plain(node):
            return iter(())
        for declarator in node.children_by_field_name("declarator"):
            if declarator.type == "init_declarator":
                self._initialiser(declarator, kind, "const" in words, around)
        return iter(())

    def _initialiser(self, node: Node, kind: Node, const: bool, around: Around) -> None:
        declarator = node.child_by_field_name("declarator")
        value = node.child_by_field_name("value")
        if declarator is None or value is None:
            return
        inside = around._replace(at=node.start_byte)
        if value.type == "argument_list" and value.named_child_count == 1:
            value = value.named_children[0]
        if declarator.type == "reference_declarator":
            self.target(value, inside)
            return
        if kind.type == "placeholder_type_specifier":
            self.expressions(value, inside._replace(strict=True))
            return
        if const and self._is_constant(value, around.function):
            return
        name = name_node(declarator)
        wanted = self._declared_type(name, node) if name is not None else None
        if wanted is None or (wanted.levels and wanted.levels[0] != "*"):
            self.expressions(value, inside._replace(strict=True))
        else:
            self.right_side(value, wanted, inside)

    def _declared_type(self, name: Node, node: Node) -> Type | None:
        spelled = self.findings.span(name)
        declarator = node.child_by_field_name("declarator")
        end = node.end_byte if declarator is None else declarator.end_byte
        for found in self.findings.declared_in(end, end + 1):
            if found.name == spelled:
                return self.inference.read(found.type)
        return None

    def _is_constant(self, value: Node, function: int) -> bool:
        """Tell whether a const variable with this initialiser may be used as a constant.

        The initialiser of a variable in an array size, for example, must stay as it is.
        """
        typed = self.inference.typed(value, function)
        if typed is not None and not typed.type.integral:
            return False
        stack = [value]
        while stack:
            node = stack.pop()
            if node.type in ("subscript_expression", "field_expression"):
                return False
            if node.type == "call_expression" and not self._is_of_file(node, function):
                return False
            if node.type == "identifier":
                found = self.inference.typed(node, function)
                if found is not None and found.variable:
                    return False
            stack.extend(node.named_children)
        return True

    def _is_of_file(self, call: Node, function: int) -> bool:
        called = call.child_by_field_name("function")
        name = "" if called is None else self.findings.span(called)
        return next(self.inference.scope.visible(name, call.start_byte, function), None) is not None

    def _if(self, node: Node, around: Around) -> Iterator[Node]:
        clause = node.child_by_field_name("condition")
        fixed = any(child.type == "constexpr" for child in node.children)
        if clause is not None and not fixed:
            yield from self._clause(clause, around)
        for name in ("consequence", "alternative"):
            part = node.child_by_field_name(name)
            if part is not None:
                yield part

    def _clause(self, clause: Node, around: Around) -> Iterator[Node]:
        """Read the parenthesised condition of an ``if`` or ``while``; yield its initialisers."""
        initializer = clause.child_by_field_name("initializer")
        if initializer is not None:
            yield from initializer.named_children
        value = clause.child_by_field_name("value") or next(iter(clause.named_children), None)
        if value is not None and value.type != "declaration" and self._is_plain(value):
            self.expressions(value, around)

    def _while(self, node: Node, around: Around) -> Iterator[Node]:
        clause = node.child_by_field_name("condition")
        if clause is not None:
            value = clause.child_by_field_name("value") or next(iter(clause.named_children), None)
            if value is not None and value.type != "declaration" and self._is_plain(value):
                self.rule(RuleType.WHILE, value, around, None)
            yield from self._clause(clause, around)
        body = node.child_by_field_name("body")
        if body is not None:
            yield body

    def _for(self, node: Node, around: Around) -> Iterator[Node]:
        for name in ("initializer", "condition", "update"):
            part = node.child_by_field_name(name)
            if part is None:
                continue
            if part.type == "declaration":
                yield part
            elif self._is_plain(part):
                self.expressions(part, around)
        body = node.child_by_field_name("body")
        if body is not None:
            yield body

    def _switch(self, node: Node, around: Around) -> Iterator[Node]:
        clause = node.child_by_field_name("condition")
        value = None if clause is None else clause.child_by_field_name("value")
        if value is not None and self._is_plain(value):
            self.expressions(value, around.taking(self.own(value, around, strict=True)))
        body = node.child_by_field_name("body")
        if body is not None:
            yield body

    def _is_plain(self, node: Node) -> bool:
        """Tell whether a node has no parse errors, no cutting directives and no opaque macros."""
        findings = self.findings
        return (
            not node.has_error
            and findings.presence.is_whole(node.start_byte, node.end_byte)
            and not findings.macros.opaque_in(findings.span(node))
        )


_STATEMENTS: dict[str, Callable[[OperandReader, Node, Around], Iterator[Node]]] = {
    "expression_statement": OperandReader._simple,
    "declaration": OperandReader._declaration,
    "if_statement": OperandReader._if,
    "while_statement": OperandReader._while,
    "do_statement": OperandReader._while,
    "for_statement": OperandReader._for,
    "switch_statement": OperandReader._switch,
}
