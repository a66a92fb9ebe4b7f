"""Collector of what the front end's readers find in a source: rules, loops, names, assignments."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.text.macros import Macros
from gi_cuda.grammar.frontends.cuda.text.reading import ParserView
from gi_cuda.grammar.frontends.cuda.text.syntax import (
    assigned_root,
    declarators,
    is_bare,
    name_node,
    structured_binding,
)
from gi_cuda.grammar.presence import Presence
from gi_cuda.grammar.rule import Seam
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.scope import FILE_LEVEL, Declaration
from gi_cuda.grammar.values import Value

_SPACE = re.compile(r"\s+")
_RESTRICT = re.compile(r"\b__restrict(?:__)?\b|\brestrict\b")
_STORAGE = re.compile(r"\b(?:static|extern|register|inline|__forceinline__)\b")
_TIGHT = re.compile(r"\s*([*&,\[\]()<>])\s*")
_UNSPOKEN = re.compile(r"\bauto\b|\bdecltype\b")
_WORD = re.compile(r"[^\W\d]\w*")
_LONGEST_ASSIGNMENT = 4000
"""Characters; a rule deep in a longer assignment may not be recognised as part of it."""


@dataclass(frozen=True, slots=True)
class RuleDraft:
    """A rule without its name."""

    type: RuleType
    start: int
    end: int
    function: int
    block: bool = True
    sites: tuple[tuple[int, int], ...] = ()
    value: Value | None = None
    at: int | None = None
    """Offset at which names of donors for this place are looked up; None: the rule's start."""
    seam: Seam | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoopDraft:
    """A loop without its number and rule names.

    Attributes:
        start: start of the loop, with its pragma.
        keyword: start of its keyword.
        end: end of the loop.
        condition: span of its condition.
        header: type and start of each rule in its header.
        endless: True if the loop has no condition, or a constant one.
    """

    start: int
    keyword: int
    end: int
    condition: tuple[int, int]
    header: tuple[tuple[RuleType, int], ...]
    endless: bool
    parts: tuple[tuple[int, int], ...] = ()
    """The spans of the parts of its header: initialiser, condition, update."""


@dataclass(slots=True)
class Findings:
    """The findings in one source; only the front end's readers write to it.

    Call ``sort`` once everything is read, before looking up spans.
    """

    text: str
    presence: Presence
    macros: Macros
    reading: ParserView
    rules: list[RuleDraft] = field(default_factory=list)
    loops: list[LoopDraft] = field(default_factory=list)
    declarations: list[Declaration] = field(default_factory=list)
    uses: list[tuple[int, str]] = field(default_factory=list)
    assignments: list[tuple[int, int, str]] = field(default_factory=list)
    """Start and end of each assignment, and the name that it sets."""
    exits: list[tuple[int, int, int, int]] = field(default_factory=list)
    """For each ``if``: start and end of its condition, then of the whole statement."""
    jumps: list[int] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    declared_at: set[int] = field(default_factory=set)
    """Offsets of names that are declared there, not used."""

    def span(self, node: Node) -> str:
        """Return a node's text."""
        return self.text[node.start_byte : node.end_byte]

    def use(self, name: str, at: int) -> None:
        """Add a use of ``name`` at ``at``, and of the names in its body if it is a macro."""
        self.uses.append((at, name))
        for inner in self.macros.names.get(name, ()):
            self.uses.append((at, inner))

    def use_words(self, start: int, end: int) -> None:
        """Add a use for each word of a text without a syntax tree (a pragma, an error)."""
        for match in _WORD.finditer(self.text, start, end):
            self.use(match[0], match.start())

    def declare(
        self, name: str, type_: str, start: int, end: int, function: int, *, bare: bool = False
    ) -> None:
        """Add a declaration that is visible from ``start`` to ``end``."""
        region = self.presence.region(start)
        self.declarations.append(Declaration(name, type_, start, end, function, region, bare))

    def declare_name(self, name: Node, end: int, function: int) -> None:
        """Add a type or constant, which is visible from its name on."""
        self.declared_at.add(name.start_byte)
        self.declare(self.span(name), "", name.end_byte, end, function)

    def declare_function(self, name: Node, end: int) -> None:
        """Add a function of the file, which is visible from its name on."""
        self.declare(self.span(name), "function", name.end_byte, end, FILE_LEVEL)

    def declare_all(self, declaration: Node, end: int, function: int) -> None:
        """Add all names that a declaration or parameter declares, visible up to ``end``."""
        first = next(declarators(declaration), None)
        if first is None:
            return
        start = declaration.start_byte
        if declaration.type == "for_range_loop":
            start = self.text.index("(", start) + 1
        base = self.text[start : first.start_byte]
        for declarator in declarators(declaration):
            binding = structured_binding(declarator)
            if binding is not None:
                for bound in binding.named_children:
                    self.declared_at.add(bound.start_byte)
                    self.declare(self.span(bound), "", declarator.end_byte, end, function)
                continue
            name = name_node(declarator)
            if name is None:
                continue
            self.declared_at.add(name.start_byte)
            is_function = declarator.type == "function_declarator"
            if function == FILE_LEVEL:
                type_ = "function" if is_function else ""
            elif is_function or declaration.has_error:
                type_ = ""
            else:
                before = self.text[declarator.start_byte : name.start_byte]
                after = self.text[name.end_byte : declarator.end_byte]
                type_ = spelled_type(f"{base} {before}{after}")
            bare = function != FILE_LEVEL and not is_function and is_bare(declaration, name)
            self.declare(self.span(name), type_, declarator.end_byte, end, function, bare=bare)

    def declare_opaque(self, start: int, stop: int, end: int, function: int) -> None:
        """Add each word of a text that is not understood as a declaration of unknown type."""
        for name in self.words_in(start, stop):
            self.declare(name, "", start, end, function)

    def words_in(self, start: int, stop: int) -> frozenset[str]:
        """Return the words of a text, and the names that its macros expand to."""
        words = frozenset(_WORD.findall(self.text[start:stop]))
        return words.union(*(self.macros.names.get(word, ()) for word in words))

    def assign(self, target: Node | None, node: Node) -> None:
        """Add an assignment by ``node`` to the variable at the root of ``target``."""
        root = assigned_root(target)
        if root is not None:
            self.assignments.append((node.start_byte, node.end_byte, self.span(root)))

    def pragma_before(self, at: int) -> tuple[int, int] | None:
        """Return the span of the unroll pragma of the loop at ``at``; None if it has none."""
        directives = self.presence.directives
        k = bisect_left(directives, at, key=lambda directive: directive.start) - 1
        if k < 0 or directives[k].word != "pragma":
            return None
        words = directives[k].rest.replace("(", " ").split()
        if words[:1] != ["unroll"] or self.reading.bare[directives[k].end : at].strip():
            return None
        text = self.text[directives[k].start : directives[k].end]
        start = directives[k].start + text.index("#")
        return start, directives[k].start + len(text.rstrip())

    def used_in(self, start: int, end: int) -> Iterator[tuple[int, str]]:
        """Yield the uses within a span."""
        for k in range(bisect_left(self.uses, (start, "")), len(self.uses)):
            at, name = self.uses[k]
            if at >= end:
                return
            yield at, name

    def assignments_in(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """Yield the assignments that start within a span."""
        for k in range(bisect_left(self.assignments, (start, 0, "")), len(self.assignments)):
            if self.assignments[k][0] >= end:
                return
            yield self.assignments[k]

    def assigned_in(self, start: int, end: int) -> frozenset[str]:
        """Return the names that are assigned within a span."""
        return frozenset(name for _, _, name in self.assignments_in(start, end))

    def assigned_around(self, at: int) -> frozenset[str]:
        """Return the names that are set by assignments whose spans contain ``at``."""
        last = bisect_left(self.assignments, (at + 1, 0, ""))
        first = bisect_left(self.assignments, (at - _LONGEST_ASSIGNMENT, 0, ""))
        return frozenset(name for _, end, name in self.assignments[first:last] if at < end)

    def declared_in(self, start: int, end: int) -> Iterator[Declaration]:
        """Yield the declarations that become visible within a span."""
        first = bisect_left(self.declarations, start, key=lambda d: d.start)
        for k in range(first, len(self.declarations)):
            if self.declarations[k].start >= end:
                return
            yield self.declarations[k]

    def sort(self) -> None:
        """Sort everything in source order, so that spans can be looked up.

        Removes the rules of ``else`` branches that contain a label: such a branch can be neither
        copied nor deleted.
        """
        self.labels.sort()
        self.rules = [
            rule
            for rule in self.rules
            if rule.type is not RuleType.ELSE
            or bisect_left(self.labels, rule.start) == bisect_left(self.labels, rule.end)
        ]
        self.uses.sort()
        self.assignments.sort()
        self.jumps.sort()
        self.declarations.sort(key=lambda d: d.start)


def spelled_type(text: str) -> str:
    """Return a spelled type in canonical form; empty for a deduced type (``auto``)."""
    if _UNSPOKEN.search(text):
        return ""
    plain = _STORAGE.sub(" ", _RESTRICT.sub(" ", text))
    return _SPACE.sub(" ", _TIGHT.sub(r"\1", plain)).strip()
