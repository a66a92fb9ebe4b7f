"""Add counters to the branches of a preprocessed CUDA text.

Rules exist only in functions that edits change. Branches are found in all device code: in methods
and lambdas, in returned expressions and in expanded macros.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from gi_cuda.grammar.coverage.branch_text import BranchText, Fork, Places, without_markers
from gi_cuda.grammar.frontends.cuda.text.reading import read
from gi_cuda.grammar.frontends.cuda.text.syntax import parse
from gi_cuda.grammar.presence import read_presence
from gi_cuda.grammar.splice import Splice, closing, opening, replacing, splice

_DEVICE = re.compile(r"\b__(?:device|global)__\b|\b__attribute__\s*\(\(\s*(?:device|global)\b")
"""Device qualifiers as the preprocessors of the back ends leave them."""

_EVALUATED_EARLY = re.compile(r"\bconst(?:expr|eval|init)\b")
_UNROLLING = re.compile(r"\bgi_unroll\s*\((?:[^()\n]|\([^()\n]*\))*\)")
"""``#pragma unroll`` as the host back end's preprocessor leaves it."""

_ASSERTS = re.compile(r"\b(?:__assert_fail|__assertfail|_wassert)\b")

_JUMP = re.compile(r"\b(?:return|break|continue|goto|exit|__trap)\b")

_CALL = "gi_loop({}u, 1u)"

_NAME = re.compile(r"([A-Za-z_]\w*)\s*\(")

_NOT_TWICE = frozenset(
    {"assignment_expression", "call_expression", "delete_expression", "new_expression"}
    | {"gnu_asm_expression", "update_expression"}
)
"""Types of nodes whose evaluation may have side effects; any call may."""

_LOGICAL = frozenset({"&&", "||", "and", "or"})
_NO_VALUES = frozenset({"declaration", "init_statement", "comma_expression"})
_INSIDE = frozenset({"binary_expression", "parenthesized_expression", "unary_expression"})
_CONSTANTS = frozenset(
    {"number_literal", "char_literal", "true", "false", "sizeof_expression", "type_descriptor"}
)
_OF_CONSTANTS = frozenset(
    {"binary_expression", "cast_expression", "parenthesized_expression", "unary_expression"}
)
_LOOPS = frozenset({"while_statement", "for_statement", "do_statement"})
_CONSTANT = frozenset(
    {
        "template_argument_list",
        "template_parameter_list",
        "static_assert_declaration",
        "sizeof_expression",
        "alignof_expression",
        "decltype",
        "noexcept",
        "requires_clause",
        "enumerator",
        "array_declarator",
        "alignas_qualifier",
        "attribute_declaration",
        "gnu_asm_expression",
        "parameter_list",
    }
)
"""Types of nodes whose expressions a compiler evaluates, or in which calls are not allowed."""


def count_branches(text: str) -> BranchText:
    """Add a counter to each branch of a preprocessed text's device code."""
    view = _UNROLLING.sub(lambda match: " " * len(match[0]), text)
    code = read(view, read_presence(view)).code
    reading = _Reading(text, code, Places(text))
    reading.walk(parse(code))
    return BranchText(splice(text, reading.splices), tuple(reading.forks), reading.counts)


@dataclass(slots=True)
class _Reading:
    """The branches that were found in a text.

    Attributes:
        text: the text.
        code: the text as the parser sees it.
        places: index of the text's files and lines.
        splices: the splices that add counters.
        forks: the branches found so far.
        counts: number of counters.
        end: end of the function that is being read.
        fixed: names of that function's template parameters that are values.
    """

    text: str
    code: str
    places: Places
    splices: list[Splice] = field(default_factory=list)
    forks: list[Fork] = field(default_factory=list)
    counts: int = 0
    end: int = 0
    fixed: frozenset[str] = frozenset()

    def walk(self, root: Node) -> None:
        """Add counters to all device functions below a node."""
        stack = [root]
        while stack:
            node = stack.pop()
            if node.type == "function_definition" and (body := node.child_by_field_name("body")):
                head = self.code[node.start_byte : body.start_byte]
                if _DEVICE.search(head) and not _EVALUATED_EARLY.search(head):
                    names = [one.child_by_field_name("declarator") for one in _parameters(node)]
                    self.fixed = frozenset(self._text(one) for one in names if one is not None)
                    self._function(node, body)
                    self._body(body)
                    continue
            stack.extend(reversed(node.children))

    def _function(self, node: Node, body: Node) -> None:
        """Add a counter to a function, if the text mentions a call of it."""
        declarator = node.child_by_field_name("declarator")
        name = _NAME.search(self._code(declarator)) if declarator is not None else None
        if name is None or body.type != "compound_statement":
            return
        if len(re.findall(rf"\b{name[1]}\s*[(<]", self.code)) > 1:
            reached, at = self._count(), body.start_byte + 1
            self.splices.append(replacing(at, at, f" {_CALL.format(reached)};"))
            place, behind = (
                self.places.at(node.start_byte),
                self._said(body.start_byte, body.end_byte),
            )
            self.forks.append(Fork(name[1], *place, reached, None, None, False, (behind, "")))

    def _body(self, body: Node) -> None:
        self.end = body.end_byte
        stack = [body]
        while stack:
            node = stack.pop()
            if node.type not in _CONSTANT and not self._is_constant(node):
                skipped = self._ways(node)
                stack.extend(one for one in reversed(node.named_children) if one != skipped)

    def _is_constant(self, node: Node) -> bool:
        """Tell whether a node is a declaration whose values the compiler evaluates."""
        kinds = ("storage_class_specifier", "type_qualifier")
        words = [self._code(one) for one in node.children if one.type in kinds]
        declares = node.type == "declaration"
        return declares and any(w == "static" or _EVALUATED_EARLY.search(w) for w in words)

    def _ways(self, node: Node) -> Node | None:
        """Add counters for the branches of a node; return the child that must not be read."""
        condition = node.child_by_field_name("condition")
        match node.type:
            case "if_statement":
                if any(one.type == "constexpr" for one in node.children):
                    return condition
                self._condition(_value(condition), behind=self._behind(node))
            case "conditional_expression":
                if _ASSERTS.search(self._code(node)):
                    return condition
                self._condition(condition, behind=self._behind(node))
            case "while_statement":
                self._condition(_value(condition), both=False, behind=self._behind(node))
            case "for_statement":
                self._condition(condition, both=False, behind=self._behind(node))
            case "binary_expression":
                if operator := _logical(node):
                    both, right = not _steers_loop(node), node.child_by_field_name("right")
                    other = self._text_of(right)
                    behind = (other, "") if operator in ("&&", "and") else ("", other)
                    self._condition(node.child_by_field_name("left"), both=both, behind=behind)
                    self._condition(right, both=both)
            case "switch_statement":
                self._switch(_value(condition), node.child_by_field_name("body"))
            case "case_statement":
                return node.child_by_field_name("value")
        return None

    def _behind(self, node: Node) -> tuple[str, str]:
        """Return the code that runs only if a node's condition is true, and only if it is false.

        If the code for true contains a jump, the code for false includes the rest of the function.
        """
        first, second, body = (
            node.child_by_field_name(name) for name in ("consequence", "alternative", "body")
        )
        first = first or body
        rest = ""
        if first is not None and node.type == "if_statement" and _JUMP.search(self._code(first)):
            rest = self._said(node.end_byte, self.end)
        return self._text_of(first), f"{self._text_of(second)} {rest}".strip()

    def _text_of(self, node: Node | None) -> str:
        return "" if node is None else self._said(node.start_byte, node.end_byte)

    def _condition(
        self, node: Node | None, *, both: bool = True, behind: tuple[str, str] = ("", "")
    ) -> None:
        """Add counters for both outcomes of a condition, and for a value known to the compiler."""
        node = node and _inside(node)
        if node is None or node.type in _NO_VALUES or node.has_error:
            return
        start, end = node.start_byte, node.end_byte
        known, first, second = (self._count() for _ in range(3))
        told = ""
        if not _within(node, _NOT_TWICE):
            told = f"(void)(({self._known(node)}) && {_CALL.format(known)}), "
        self.splices += [
            opening(start, end, f"(({told}("),
            closing(start, end, f")) ? {_CALL.format(first)} : !{_CALL.format(second)})"),
        ]
        place = self.places.at(start)
        self.forks.append(Fork(self._said(start, end), *place, first, second, known, both, behind))

    def _known(self, node: Node) -> str:
        """Return an expression that is true if the compiler knows the value of a condition.

        The text shows that for constants and template parameters; ``gi_known`` asks the compiler
        about everything else.
        """
        node = _inside(node)
        if self._is_fixed(node):
            return "true"
        ways = [f"gi_known({self._text(node)})"]
        if node.type == "binary_expression" and (operator := _logical(node)):
            no = "!" if operator in ("&&", "and") else ""
            sides = [one for one in node.named_children if self._is_fixed(_inside(one))]
            ways += [f"{no}({self._text(one)})" for one in sides]
        return " || ".join(ways)

    def _is_fixed(self, node: Node) -> bool:
        """Tell whether an expression consists of constants and template parameters only."""
        if node.type == "identifier":
            return self._text(node) in self.fixed
        if node.type in _OF_CONSTANTS:
            return all(map(self._is_fixed, node.named_children))
        return node.type in _CONSTANTS

    def _text(self, node: Node) -> str:
        return self.text[node.start_byte : node.end_byte]

    def _switch(self, node: Node | None, body: Node | None) -> None:
        """Add counters for each label of a ``switch``, and for the ``switch`` itself."""
        if node is None or body is None or node.type in _NO_VALUES or node.has_error:
            return
        reached, start, end = self._count(), node.start_byte, node.end_byte
        self.splices += [
            opening(start, end, f"({_CALL.format(reached)}, ("),
            closing(start, end, "))"),
        ]
        for one in body.named_children:
            colon = next((child for child in one.children if child.type == ":"), None)
            if one.type == "case_statement" and colon is not None:
                label, at = self._count(), colon.end_byte
                self.splices.append(replacing(at, at, f" {_CALL.format(label)};"))
                said, place = self._said(one.start_byte, at), self.places.at(one.start_byte)
                behind = (self._said(at, one.end_byte), "")
                self.forks.append(Fork(said, *place, label, reached, None, False, behind))

    def _count(self) -> int:
        """Return the number of a new counter."""
        self.counts += 1
        return self.counts - 1

    def _code(self, node: Node) -> str:
        return self.code[node.start_byte : node.end_byte]

    def _said(self, start: int, end: int) -> str:
        return without_markers(self.text[start:end])


def _inside(node: Node) -> Node:
    """Return an expression without the parentheses around it."""
    while node.type == "parenthesized_expression" and node.named_child_count == 1:
        (node,) = node.named_children
    return node


def _parameters(function: Node) -> Iterator[Node]:
    """Yield the template parameters of a function and of the classes around it."""
    above = function.parent
    while above is not None:
        if above.type == "template_declaration" and (
            some := above.child_by_field_name("parameters")
        ):
            yield from some.named_children
        above = above.parent


def _within(node: Node, kinds: frozenset[str]) -> bool:
    """Tell whether a node, or a node below it, has one of some types."""
    return node.type in kinds or any(_within(one, kinds) for one in node.named_children)


def _logical(node: Node) -> str:
    """Return the operator of a short-circuit expression (``&&``, ``||``); "" for others."""
    operator = node.child_by_field_name("operator")
    return operator.type if operator is not None and operator.type in _LOGICAL else ""


def _value(clause: Node | None) -> Node | None:
    """Return the expression in the parentheses of an ``if``, ``while`` or ``switch``."""
    if clause is None:
        return None
    value = clause.child_by_field_name("value")
    return value if value is not None else next(iter(clause.named_children), None)


def _steers_loop(node: Node) -> bool:
    """Tell whether a part of a condition belongs to a loop's condition."""
    above = node.parent
    while above is not None and above.type in {*_INSIDE, "condition_clause"}:
        above = above.parent
    return above is not None and above.type in _LOOPS
