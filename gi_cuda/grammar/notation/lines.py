"""A grammar as productions: its source cut into lines and rules (paper, figure 2)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gi_cuda.grammar.rule import Rule
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.source import LineIndex, Source, SourceLine, line_starts


@dataclass(frozen=True, slots=True)
class Text:
    """Fixed text."""

    text: str


@dataclass(frozen=True, slots=True)
class ProductionName:
    """A reference to another production, without angle brackets."""

    name: str


Item = Text | ProductionName


@dataclass(frozen=True, slots=True)
class Production:
    """A production ``<name> ::= items``.

    Attributes:
        line: the line of the file from which it was read; 0 if it was made from a grammar.
    """

    name: str
    items: tuple[Item, ...]
    line: int = 0


@dataclass(slots=True)
class _Node:
    """A rule at one of its sites, with the rules inside it."""

    name: str
    start: int
    end: int
    inner: list[_Node] = field(default_factory=list)


def start_symbol(source: Source) -> str:
    """Return the symbol that stands for the whole source."""
    return source.name


def line_symbol(place: SourceLine) -> str:
    """Return the symbol that stands for a line."""
    return f"{place.file}_{place.line}"


def productions(source: Source, rules: Sequence[Rule]) -> Iterator[Production]:
    """Yield the start symbol's production, then each line's, each followed by its rules'."""
    cutter = _Cutter(source)
    items = cutter.cut(0, len(source.text), _nest(rules))
    yield Production(start_symbol(source), tuple(items))
    yield from cutter.made


def _nest(rules: Sequence[Rule]) -> list[_Node]:
    nodes = []
    for rule in rules:
        spans = rule.sites if rule.type is RuleType.RESTRICT else ((rule.start, rule.end),)
        nodes += [_Node(rule.name, start, end) for start, end in spans]
    nodes.sort(key=lambda node: (node.start, -node.end))
    top: list[_Node] = []
    stack: list[_Node] = []
    for node in nodes:
        while stack and stack[-1].end < max(node.end, node.start + 1):
            stack.pop()
        (stack[-1].inner if stack else top).append(node)
        if node.end > node.start:
            stack.append(node)
    return top


class _Cutter:
    """Cuts spans into items; whole lines become productions of their own."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.made: list[Production] = []
        self._places = LineIndex(source)
        self._starts = frozenset(line_starts(source.text))
        self._part_ends = [part.end for part in source.stretches]
        self._part_starts = [part.start for part in source.stretches]
        self._done: set[str] = set()

    def cut(self, start: int, end: int, nodes: list[_Node]) -> list[Item]:
        """Return the items of a span: symbols for its whole lines, and text and rules elsewhere."""
        items: list[Item] = []
        at, k = start, 0
        while at < end or (k < len(nodes) and at == end):
            stop, last = self._unit(at, end, nodes, k)
            inside = nodes[k:last]
            # The line on which a rule starts is its container's; only the source starts at 0.
            own = at > start or start == 0
            whole = (
                own
                and at in self._starts
                and self._is_of_a_file(at)
                and (stop == len(self.source.text) or self.source.text[stop - 1] == "\n")
            )
            if whole and stop > at:
                name = line_symbol(self._places.at(at))
                items.append(ProductionName(name))
                place = len(self.made)
                self.made.append(Production(name, ()))
                self.made[place] = Production(name, tuple(self._parts(at, stop, inside)))
            else:
                items += self._parts(at, stop, inside)
            at, k = stop, last
            if stop == end:
                break
        return items

    def _unit(self, at: int, end: int, nodes: list[_Node], k: int) -> tuple[int, int]:
        """Return the end of the lines from ``at`` on that rules across line ends hold together.

        Returns:
            The end of these lines, and the index of the first node behind them.
        """
        stop = self._line_end(at, end)
        while k < len(nodes) and (nodes[k].start < stop or stop == end):
            if nodes[k].end > stop:
                stop = self._line_end(nodes[k].end - 1, end)
            k += 1
        return stop, k

    def _is_of_a_file(self, at: int) -> bool:
        """Tell whether an offset is in a part; text between parts belongs to no file's line."""
        part = bisect_right(self._part_starts, at) - 1
        return part >= 0 and at < self._part_ends[part]

    def _line_end(self, at: int, end: int) -> int:
        newline = self.source.text.find("\n", at, end)
        return end if newline < 0 else newline + 1

    def _parts(self, at: int, stop: int, nodes: list[_Node]) -> Iterator[Item]:
        text = self.source.text
        for node in nodes:
            if node.start > at:
                yield Text(text[at : node.start])
            yield ProductionName(node.name)
            self._rule(node)
            at = node.end
        if stop > at:
            yield Text(text[at:stop])

    def _rule(self, node: _Node) -> None:
        if node.name in self._done:
            return
        self._done.add(node.name)
        place = len(self.made)
        self.made.append(Production(node.name, ()))
        items = tuple(self.cut(node.start, node.end, node.inner)) if node.end > node.start else ()
        self.made[place] = Production(node.name, items)
