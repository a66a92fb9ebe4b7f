"""A preprocessed CUDA text with a count for each way that its device code can take.

Unlike rules, which are places that edits change, ways are found in all device code: in methods and
lambdas, in what a function returns and what macros became.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tree_sitter import Node

from gi_cuda.grammar.branch_text import BranchText, Fork, Places, without_markers
from gi_cuda.grammar.frontends.cuda.reading import read
from gi_cuda.grammar.frontends.cuda.syntax import parse
from gi_cuda.grammar.presence import read_presence
from gi_cuda.grammar.splice import Splice, closing, opening, replacing, splice

_DEVICE = re.compile(r"\b__(?:device|global)__\b|\b__attribute__\s*\(\(\s*(?:device|global)\b")
"""As the preprocessors of the back ends leave it."""

_EVALUATED_EARLY = re.compile(r"\bconst(?:expr|eval|init)\b")
_UNROLLING = re.compile(r"\bgi_unroll\s*\((?:[^()\n]|\([^()\n]*\))*\)")
"""How the host back end's preprocessor leaves ``#pragma unroll``."""

_ASSERTS = re.compile(r"\b(?:__assert_fail|__assertfail|_wassert)\b")

_JUMP = re.compile(r"\b(?:return|break|continue|goto|exit|__trap)\b")

_CALL = "gi_loop({}u, 1u)"

_NAME = re.compile(r"([A-Za-z_]\w*)\s*\(")

_EFFECTS = frozenset(
    {"assignment_expression", "call_expression", "delete_expression", "new_expression"}
    | {"gnu_asm_expression", "update_expression"}
)
"""Nodes that may change something when they are evaluated; also calls of what is not read."""

_LOGICAL = frozenset({"&&", "||", "and", "or"})
_NO_VALUES = frozenset({"declaration", "init_statement", "comma_expression"})
_INSIDE = frozenset({"binary_expression", "parenthesized_expression", "unary_expression"})
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
"""Nodes in which a compiler evaluates expressions itself, or takes no calls."""


def count_branches(text: str) -> BranchText:
    """Put a count into each way of a preprocessed text's device code."""
    view = _UNROLLING.sub(lambda match: " " * len(match[0]), text)
    code = read(view, read_presence(view)).code
    reading = _Reading(text, code, Places(text))
    reading.walk(parse(code))
    return BranchText(splice(text, reading.splices), tuple(reading.forks), reading.counts)


@dataclass(slots=True)
class _Reading:
    """The branches that were found in a text.

    Attributes:
        code: the text as the parser is shown it.
        splices: that put counts into it.
        counts: how many these are.
        end: of the function that is being read.
    """

    text: str
    code: str
    places: Places
    splices: list[Splice] = field(default_factory=list)
    forks: list[Fork] = field(default_factory=list)
    counts: int = 0
    end: int = 0

    def walk(self, root: Node) -> None:
        """Read all device functions below a node."""
        stack = [root]
        while stack:
            node = stack.pop()
            if node.type == "function_definition" and (body := node.child_by_field_name("body")):
                head = self.code[node.start_byte : body.start_byte]
                if _DEVICE.search(head) and not _EVALUATED_EARLY.search(head):
                    self._function(node, body)
                    self._body(body)
                    continue
            stack.extend(reversed(node.children))

    def _function(self, node: Node, body: Node) -> None:
        """Count the calls of a function that some code calls."""
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
        """Tell whether a compiler evaluates the values of a declaration."""
        kinds = ("storage_class_specifier", "type_qualifier")
        words = [self._code(one) for one in node.children if one.type in kinds]
        declares = node.type == "declaration"
        return declares and any(w == "static" or _EVALUATED_EARLY.search(w) for w in words)

    def _ways(self, node: Node) -> Node | None:
        """Count the ways behind a node; return the child that is to be left alone."""
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
                operator = node.child_by_field_name("operator")
                if operator is not None and operator.type in _LOGICAL:
                    both, right = not _steers_loop(node), node.child_by_field_name("right")
                    other = self._text_of(right)
                    behind = (other, "") if operator.type in ("&&", "and") else ("", other)
                    self._condition(node.child_by_field_name("left"), both=both, behind=behind)
                    self._condition(right, both=both)
            case "switch_statement":
                self._switch(_value(condition), node.child_by_field_name("body"))
            case "case_statement":
                return node.child_by_field_name("value")
        return None

    def _behind(self, node: Node) -> tuple[str, str]:
        """Return the code that runs where the condition of a node is true, and where it is false;
        with the latter what follows, if a jump is in the former."""
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
        """Count either outcome of a condition, and whether the compiler knows it."""
        while node is not None and node.type == "parenthesized_expression":
            node = next(iter(node.named_children), None)
        if node is None or node.type in _NO_VALUES or node.has_error:
            return
        start, end = node.start_byte, node.end_byte
        known, first, second = (self._count() for _ in range(3))
        told = ""
        if not _has_effects(node):
            text = self.text[start:end]
            told = f"(void)(gi_known(({text}) ? true : false) && {_CALL.format(known)}), "
        self.splices += [
            opening(start, end, f"(({told}("),
            closing(start, end, f")) ? {_CALL.format(first)} : !{_CALL.format(second)})"),
        ]
        place = self.places.at(start)
        self.forks.append(Fork(self._said(start, end), *place, first, second, known, both, behind))

    def _switch(self, node: Node | None, body: Node | None) -> None:
        """Count each label of a ``switch``, and the ``switch`` itself."""
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
        """The number of another count."""
        self.counts += 1
        return self.counts - 1

    def _code(self, node: Node) -> str:
        return self.code[node.start_byte : node.end_byte]

    def _said(self, start: int, end: int) -> str:
        return without_markers(self.text[start:end])


def _has_effects(node: Node) -> bool:
    """Tell whether it may make a difference that an expression is evaluated twice."""
    return node.type in _EFFECTS or any(map(_has_effects, node.named_children))


def _value(clause: Node | None) -> Node | None:
    """The expression in the parentheses behind ``if`` and the like."""
    if clause is None:
        return None
    value = clause.child_by_field_name("value")
    return value if value is not None else next(iter(clause.named_children), None)


def _steers_loop(node: Node) -> bool:
    """Tell whether a part of a condition is one of a loop, which one of its parts ends."""
    above = node.parent
    while above is not None and above.type in {*_INSIDE, "condition_clause"}:
        above = above.parent
    return above is not None and above.type in _LOOPS
