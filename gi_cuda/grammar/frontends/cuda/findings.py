"""What reading a function body finds, before rules get their names."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.macros import Macros
from gi_cuda.grammar.frontends.cuda.reading import ParserView
from gi_cuda.grammar.frontends.cuda.syntax import (
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
"""Characters; parts of one that is longer are not seen as such."""


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
    """Where the names of what is put there are looked up; None: where it starts."""
    seam: Seam | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoopDraft:
    """A loop as the syntax has it; ``endless`` where no condition ends it."""

    start: int
    keyword: int
    end: int
    condition: tuple[int, int]
    header: tuple[tuple[RuleType, int], ...]
    endless: bool
    parts: tuple[tuple[int, int], ...] = ()
    """The spans of what its header is made of."""


@dataclass(slots=True)
class Findings:
    """Collects what one source holds; only the front end's readers write to it.

    Once everything is read, ``sort`` makes it ready for looking up spans.
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
    """Start and end of an assignment, and the name it sets."""
    exits: list[tuple[int, int, int, int]] = field(default_factory=list)
    """For each ``if``: the spans of its condition and of the whole of it."""
    jumps: list[int] = field(default_factory=list)
    labels: list[int] = field(default_factory=list)
    declared_at: set[int] = field(default_factory=set)
    """Where names stand that are declared there, not used."""

    def span(self, node: Node) -> str:
        """A node's text."""
        return self.text[node.start_byte : node.end_byte]

    def use(self, name: str, at: int) -> None:
        """Note that ``name`` is used there, and what it uses if it is a macro."""
        self.uses.append((at, name))
        for inner in self.macros.names.get(name, ()):
            self.uses.append((at, inner))

    def use_words(self, start: int, end: int) -> None:
        """Note every word of a text that has no syntax tree (a pragma, an error)."""
        for match in _WORD.finditer(self.text, start, end):
            self.use(match[0], match.start())

    def declare(
        self, name: str, type_: str, start: int, end: int, function: int, *, bare: bool = False
    ) -> None:
        """Note a declaration that is visible from ``start`` to ``end``."""
        region = self.presence.region(start)
        self.declarations.append(Declaration(name, type_, start, end, function, region, bare))

    def declare_name(self, name: Node, end: int, function: int) -> None:
        """Note a type or constant, visible from its name on."""
        self.declared_at.add(name.start_byte)
        self.declare(self.span(name), "", name.end_byte, end, function)

    def declare_function(self, name: Node, end: int) -> None:
        """Note a function of the file, visible from its head on."""
        self.declare(self.span(name), "function", name.end_byte, end, FILE_LEVEL)

    def declare_all(self, declaration: Node, end: int, function: int) -> None:
        """Note what a declaration (or parameter) declares, visible up to ``end``."""
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
        """Take every word of what is not understood for a declaration of unknown type."""
        for name in self.words_in(start, stop):
            self.declare(name, "", start, end, function)

    def words_in(self, start: int, stop: int) -> frozenset[str]:
        """The words of a text, and those that come with macros in it."""
        words = frozenset(_WORD.findall(self.text[start:stop]))
        return words.union(*(self.macros.names.get(word, ()) for word in words))

    def assign(self, target: Node | None, node: Node) -> None:
        """Note that ``node`` assigns to the variable at the root of ``target``."""
        root = assigned_root(target)
        if root is not None:
            self.assignments.append((node.start_byte, node.end_byte, self.span(root)))

    def pragma_before(self, at: int) -> tuple[int, int] | None:
        """The span of an unroll pragma that belongs to the loop at ``at``."""
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
        """The uses within a span."""
        for k in range(bisect_left(self.uses, (start, "")), len(self.uses)):
            at, name = self.uses[k]
            if at >= end:
                return
            yield at, name

    def assignments_in(self, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        """The assignments that start within a span."""
        for k in range(bisect_left(self.assignments, (start, 0, "")), len(self.assignments)):
            if self.assignments[k][0] >= end:
                return
            yield self.assignments[k]

    def assigned_in(self, start: int, end: int) -> frozenset[str]:
        """The names assigned within a span."""
        return frozenset(name for _, _, name in self.assignments_in(start, end))

    def assigned_around(self, at: int) -> frozenset[str]:
        """The names of which an assignment holds the character at ``at``."""
        last = bisect_left(self.assignments, (at + 1, 0, ""))
        first = bisect_left(self.assignments, (at - _LONGEST_ASSIGNMENT, 0, ""))
        return frozenset(name for _, end, name in self.assignments[first:last] if at < end)

    def declared_in(self, start: int, end: int) -> Iterator[Declaration]:
        """The declarations that become visible within a span."""
        first = bisect_left(self.declarations, start, key=lambda d: d.start)
        for k in range(first, len(self.declarations)):
            if self.declarations[k].start >= end:
                return
            yield self.declarations[k]

    def sort(self) -> None:
        """Put everything in source order; what looks up spans needs it.

        Branches that hold a label can neither be copied nor left out: their rules go.
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
    """A type as spelled, in one form; empty for one that is deduced."""
    if _UNSPOKEN.search(text):
        return ""
    plain = _STORAGE.sub(" ", _RESTRICT.sub(" ", text))
    return _SPACE.sub(" ", _TIGHT.sub(r"\1", plain)).strip()
