"""Account of the functions that evolve: the parts that are rules, and why other parts are not."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.analysis import analyse
from gi_cuda.grammar.frontends.cuda.rules.body import may_declare
from gi_cuda.grammar.frontends.cuda.rules.findings import Findings
from gi_cuda.grammar.frontends.cuda.rules.naming import named
from gi_cuda.grammar.rule_types import PAPER_TYPES, RuleType
from gi_cuda.grammar.source import LineIndex, Source


class PartKind(StrEnum):
    """The kind of a part of a function."""

    STATEMENT = "simple statement"
    CONDITION = "condition"
    HEADER = "loop header"
    DECLARATION = "declaration"
    JUMP = "jump"
    HIDDEN = "not read"


NO_MACROS: Mapping[str, str] = MappingProxyType({})

EXPECTED = (PartKind.STATEMENT, PartKind.CONDITION, PartKind.HEADER, PartKind.HIDDEN)
"""Kinds of parts that edits should be able to change; declarations and jumps stay as they are."""


@dataclass(frozen=True, slots=True)
class AccountedPart:
    """A part of a function (statement, condition, loop header), and the rules made of it.

    Attributes:
        kind: kind of the part.
        file, line: file and line on which the part starts.
        start, end: span of the part.
        rules: names of the rules that the part is or contains, in source order.
        whole: True if the part can change as a whole.
        reason: why the part cannot change, or only pieces of it; empty if ``whole``.
        compiled: True if some configuration compiles the part.
    """

    kind: PartKind
    file: str
    line: int
    start: int
    end: int
    rules: tuple[str, ...]
    whole: bool
    reason: str
    compiled: bool = True

    @property
    def variable(self) -> bool:
        """Tell whether the part, or a piece of it, can change."""
        return bool(self.rules)


def account(
    source: Source,
    kernels: Sequence[str] | None = None,
    types: frozenset[RuleType] = PAPER_TYPES,
    macros: Mapping[str, str] = NO_MACROS,
) -> tuple[AccountedPart, ...]:
    """Return the parts of the functions that evolve, in source order.

    Args:
        source: the source.
        kernels: names of the kernels; None: all.
        types: types of the rules.
        macros: macros that configurations define; ``ANY`` if their values differ.

    Raises:
        UserError: as :func:`gi_cuda.grammar.convert`.
    """
    analysis = analyse(source, kernels, types)
    findings = analysis.findings
    accountant = _Accountant(source, findings, types, findings.presence.active(macros))
    for body in analysis.bodies:
        for kind, node, reason in _parts(body, findings):
            accountant.add(kind, node.start_byte, node.end_byte, reason)
        for hidden in findings.reading.hidden:
            if body.start_byte <= hidden.start < body.end_byte:
                accountant.add_hidden(hidden.start, hidden.end)
    return tuple(sorted(accountant.parts, key=lambda part: (part.start, -part.end)))


class _Accountant:
    """Collects the parts, each with its rules."""

    def __init__(
        self,
        source: Source,
        findings: Findings,
        types: frozenset[RuleType],
        active: tuple[bool, ...],
    ) -> None:
        self.parts: list[AccountedPart] = []
        self._text = source.text
        self._types = types
        self._presence, self._active = findings.presence, active
        self._places = LineIndex(source)
        self._drafts = sorted(
            named(source, findings.rules), key=lambda pair: (pair[1].start, -pair[1].end)
        )
        self._starts = [draft.start for _, draft in self._drafts]

    def add(self, kind: PartKind, start: int, end: int, reason: str) -> None:
        """Add a part; ``reason`` says why it is not a rule, in case it is not."""
        inside = self._drafts[bisect_left(self._starts, start) : bisect_left(self._starts, end)]
        found = [(name, draft) for name, draft in inside if draft.end <= end]
        text = self._text[start:end].rstrip("; \t\r\n")
        whole = any(
            draft.start == start and draft.end >= start + len(text)
            for _, draft in found
            if draft.type in _WHOLE[kind]
        )
        names = tuple(name for name, draft in found if draft.start < draft.end)
        if whole:
            reason = ""
        elif not reason:
            reason = _why(kind, self._types)
        self.parts.append(
            AccountedPart(
                kind,
                *self._places.at(start),
                start,
                end,
                names,
                whole,
                reason if (compiled := self._compiled(start)) else _NEVER,
                compiled,
            )
        )

    def add_hidden(self, start: int, end: int) -> None:
        """Add a span that was not parsed, if it is not blank."""
        text = self._text[start:end]
        if text.strip():
            start += len(text) - len(text.lstrip())
            end = start + len(text.strip())
            reason = "an #if or a macro cuts through the statement; this branch is not read"
            place, compiled = self._places.at(start), self._compiled(start)
            self.parts.append(
                AccountedPart(PartKind.HIDDEN, *place, start, end, (), False, reason, compiled)
            )

    def _compiled(self, at: int) -> bool:
        return self._active[self._presence.region(at)]


_NEVER = "no parameter can switch its #if on"


_WHOLE: dict[PartKind, frozenset[RuleType]] = {
    PartKind.STATEMENT: frozenset({RuleType.STATEMENT}),
    PartKind.CONDITION: frozenset({RuleType.IF, RuleType.WHILE}),
    PartKind.HEADER: frozenset({RuleType.FOR1, RuleType.FOR2, RuleType.FOR3}),
    PartKind.DECLARATION: frozenset(),
    PartKind.JUMP: frozenset(),
    PartKind.HIDDEN: frozenset(),
}


def _why(kind: PartKind, types: frozenset[RuleType]) -> str:
    """Return the reason why a part is not a rule, if its text gives no other reason."""
    if kind is PartKind.DECLARATION:
        return "declarations stay" + (
            "; their initialisers may change" if RuleType.RHS in types else ""
        )
    if kind is PartKind.JUMP:
        return "return and other jumps stay"
    if kind is PartKind.CONDITION and RuleType.WHILE not in types:
        return "conditions of while are rules with --edits full only"
    return "not asked for"


def _parts(body: Node, findings: Findings) -> Iterator[tuple[PartKind, Node, str]]:
    """Yield each part of a function body, with the reason why it cannot be a rule, or ""."""
    stack = [body]
    while stack:
        node = stack.pop()
        kind = node.type
        if kind == "expression_statement":
            if node.named_child_count:
                yield PartKind.STATEMENT, node, _against(node, findings)
            continue
        if kind in (
            "declaration",
            "alias_declaration",
            "type_definition",
            "static_assert_declaration",
        ):
            yield PartKind.DECLARATION, node, _broken(node, findings)
            continue
        if kind == "ERROR":
            yield PartKind.STATEMENT, node, "the parser does not understand it"
            continue
        if kind.endswith("_statement") and kind.removesuffix("_statement") in _JUMPS:
            yield PartKind.JUMP, node, ""
            continue
        if kind == "function_definition" and node is not body:
            head = node.child_by_field_name("declarator") or node
            yield PartKind.HEADER, head, "a macro that heads a block stays"
        yield from _heads(node, findings)
        for name, child in _bodies(node):
            if name not in ("condition", "initializer", "update", "value", "right", "declarator"):
                stack.append(child)


_JUMPS = frozenset({"return", "break", "continue", "goto", "co_return", "throw"})


def _bodies(node: Node) -> Iterator[tuple[str | None, Node]]:
    if node.type in ("lambda_expression", "struct_specifier", "enum_specifier"):
        return
    for k, child in enumerate(node.children):
        if child.is_named:
            yield node.field_name_for_child(k), child


def _heads(node: Node, findings: Findings) -> Iterator[tuple[PartKind, Node, str]]:
    """Yield the condition or the header parts of a control statement."""
    if node.type == "for_statement":
        for name in ("initializer", "condition", "update"):
            part = node.child_by_field_name(name)
            if part is not None and part.end_byte > part.start_byte:
                yield PartKind.HEADER, part, _broken(part, findings)
        return
    if node.type == "for_range_loop":
        part = node.child_by_field_name("right")
        if part is not None:
            yield PartKind.HEADER, part, "what a range-for goes over stays"
        return
    clause = node.child_by_field_name("condition")
    if clause is None or node.type.startswith("preproc"):
        return
    initializer = clause.child_by_field_name("initializer")
    if initializer is not None:
        yield PartKind.DECLARATION, initializer, ""
    value = clause.child_by_field_name("value") or next(iter(clause.named_children), clause)
    if node.type == "switch_statement":
        yield PartKind.CONDITION, value, "the value of a switch keeps its type"
    elif any(child.type == "constexpr" for child in node.children):
        yield PartKind.CONDITION, value, "the compiler decides it (if constexpr)"
    elif value.type == "declaration":
        yield PartKind.CONDITION, value, "it declares a variable"
    else:
        yield PartKind.CONDITION, value, _broken(value, findings)


def _against(statement: Node, findings: Findings) -> str:
    if may_declare(statement.named_children[0]):
        return "it may be a declaration"
    return _broken(statement, findings)


def _broken(node: Node, findings: Findings) -> str:
    """Return the reason in a part's text that prevents a change; "" if there is none."""
    if node.has_error:
        return "the parser does not understand it"
    text = findings.span(node)
    if findings.macros.opaque_in(text):
        return (
            f"{findings.macros.opaque_word(text)} is a macro that declares, jumps or opens blocks"
        )
    if not findings.presence.is_whole(node.start_byte, node.end_byte):
        return "an #if cuts through it"
    return ""
