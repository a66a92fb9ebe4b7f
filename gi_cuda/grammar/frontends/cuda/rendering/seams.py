"""Finder of seams: places for loop fusion and loop fission.

Fusion joins two neighbouring loops with equal headers. Fission divides a loop's body between two
loops. Seams are found only where the result compiles: each half has the names that it uses, and no
jump leaves a body. Tests of variants decide whether the results are correct.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, permutations

from tree_sitter import Node

from gi_cuda.grammar.frontends.cuda.rules.findings import Findings, RuleDraft
from gi_cuda.grammar.frontends.cuda.text.syntax import CONDITIONAL_TEXT, declarators, name_node
from gi_cuda.grammar.rule import Seam
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.splice import is_first, line_start

_TOKEN = re.compile(r"\w+|[^\w\s]")
_LOOPS = frozenset({"for_statement", "while_statement", "do_statement", "for_range_loop"})
_LEAVING = frozenset(
    {
        "return_statement",
        "goto_statement",
        "labeled_statement",
        "throw_statement",
        "co_return_statement",
        "co_yield_statement",
    }
)
_OWN_RULES = frozenset({"lambda_expression", "struct_specifier", "class_specifier", "ERROR"})
"""Nodes that are skipped: jumps in them stay in them, and no rules are in them."""


@dataclass(frozen=True, slots=True)
class _ForLoop:
    """A loop that can have a seam.

    Attributes:
        start: start of the loop, with its pragma.
        close: end of its header.
        body: node of its body.
        end: end of the loop.
        header: tokens of its header, with "" in place of the counter.
        counter: name of the variable that its header declares; "" if it declares none or several.
        type: text before the counter in its declaration.
    """

    start: int
    close: int
    body: Node
    end: int
    header: tuple[str, ...]
    counter: str
    type: str

    @property
    def in_braces(self) -> bool:
        return self.body.type == "compound_statement"


def read_seams(body: Node, function: int, findings: Findings) -> None:
    """Make rules of the seams in the body of a function that evolves.

    Args:
        body: the body.
        function: number of the function.
        findings: the findings, complete and sorted except for seams.
    """
    reader = _SeamReader(findings, function)
    stack = [body]
    while stack:
        node = stack.pop()
        if node.type in _OWN_RULES:
            continue
        if node.type == "compound_statement" or node.type in CONDITIONAL_TEXT:
            findings.rules.extend(reader.among(node.named_children))
        stack.extend(node.named_children)


class _SeamReader:
    """Finds the seams of one function."""

    def __init__(self, findings: Findings, function: int) -> None:
        self.findings = findings
        self.function = function
        # Statements can be inserted before these loops, so they are in blocks in any configuration.
        self._in_blocks = {one.start for one in findings.rules if one.type is RuleType.LOOP}

    def among(self, statements: Sequence[Node]) -> Iterator[RuleDraft]:
        """Yield the seams between the loops of a block, and those in the loops' bodies."""
        loops = [self._for_loop(one) for one in statements]
        for loop in loops:
            if loop is not None:
                yield from self._in_body(loop)
        run: list[_ForLoop] = []
        for loop in loops:
            if run and not (loop and self._are_alike(run[-1], loop)):
                yield from self._between(run)
                run = []
            if loop is not None:
                run.append(loop)
        yield from self._between(run)

    # -- loops ------------------------------------------------------------------------------

    def _for_loop(self, node: Node) -> _ForLoop | None:
        """Return a ``for`` loop that can have a seam; None for other statements.

        Its header is complete, its body does not assign names of the header, and no jump leaves it.
        """
        findings = self.findings
        if node.type != "for_statement" or node.has_error:
            return None
        names = ("initializer", "condition", "update", "body")
        parts = [node.child_by_field_name(name) for name in names]
        initializer, *_, body = parts
        if None in parts or initializer is None or body is None:
            return None
        start, end = self._beginning(node), node.end_byte
        close = max(child.end_byte for child in node.children if child.type == ")")
        bare = findings.reading.bare[node.start_byte : close]
        read = {name for _, name in findings.used_in(node.start_byte, close)}
        if (
            start not in self._in_blocks
            or '"' in bare
            or findings.macros.opaque_in(findings.text[start:end])
            or read & findings.assigned_in(body.start_byte, body.end_byte)
            or _is_left(body)
        ):
            return None
        type_, counter = self._counter(initializer)
        header = tuple("" if token == counter else token for token in _TOKEN.findall(bare))
        return _ForLoop(start, close, body, end, header, counter, type_)

    def _counter(self, initializer: Node) -> tuple[str, str]:
        """Return type and name of the only variable that a header declares; "" for others."""
        found = list(declarators(initializer)) if initializer.type == "declaration" else []
        name = name_node(found[0]) if len(found) == 1 else None
        if name is None:
            return "", ""
        span = self.findings.text[initializer.start_byte : name.start_byte]
        return span, self.findings.span(name)

    def _beginning(self, statement: Node) -> int:
        """Return the start of a statement, with its pragma."""
        start = statement.start_byte
        pragma = self.findings.pragma_before(start) if statement.type == "for_statement" else None
        return start if pragma is None else pragma[0]

    def _are_neighbours(self, end: int, start: int) -> bool:
        """Tell whether only white space and comments are between two offsets."""
        directives = self.findings.presence.directives
        first, last = (
            bisect_left(directives, at, key=lambda directive: directive.start)
            for at in (end, line_start(self.findings.text, start))
        )
        return first == last and not self.findings.reading.bare[end:start].strip()

    # -- fusion -----------------------------------------------------------------------------

    def _are_alike(self, one: _ForLoop, other: _ForLoop) -> bool:
        return one.header == other.header and self._are_neighbours(one.end, other.start)

    def _between(self, run: Sequence[_ForLoop]) -> Iterator[RuleDraft]:
        """Yield the seams between neighbouring loops with equal headers.

        Any subset of the seams can be fused together.
        """
        parts: list[list[_ForLoop]] = []
        for loop in run:
            if parts and self._have_one_counter([*parts[-1], loop]):
                parts[-1].append(loop)
            else:
                parts.append([loop])
        for part in parts:
            in_one_block = self._share_block(part)
            for one, other in pairwise(part):
                yield self._between_two(one, other, in_one_block=in_one_block)

    def _between_two(self, one: _ForLoop, other: _ForLoop, *, in_one_block: bool) -> RuleDraft:
        """Return the seam of two loops, with their braces if one block can hold both bodies."""
        start, end = one.body.end_byte, other.body.start_byte
        if in_one_block:
            start, end = start - 1, end + 1
        instead = ""
        if one.counter != other.counter:
            instead = f"{other.type}{other.counter} = {one.counter};"
        seam = Seam(
            one.start,
            (other.start, other.close),
            other.end,
            (one.body.start_byte, one.body.end_byte),
            instead,
        )
        return RuleDraft(RuleType.SEAM, start, end, self.function, seam=seam)

    def _have_one_counter(self, run: Sequence[_ForLoop]) -> bool:
        """Tell whether loops share a counter, or can when fused.

        Counters with different names can share a block if each is declared as a copy of the counter
        before it.
        """
        counters = [counter for counter, _ in groupby(loop.counter for loop in run)]
        if len(counters) < 2:
            return True
        return (
            len(set(counters)) == len(counters)
            and self._share_block(run)
            and not any(
                one.counter != other.counter and other.counter in self._said(one)
                for one, other in permutations(run, 2)
            )
        )

    def _share_block(self, run: Sequence[_ForLoop]) -> bool:
        """Tell whether one block can hold the bodies of some loops without name clashes."""
        return all(loop.in_braces for loop in run) and not any(
            self._own(one) & (self._said(other) | {other.counter})
            for one, other in permutations(run, 2)
        )

    def _said(self, loop: _ForLoop) -> frozenset[str]:
        """Return the words of a loop's body."""
        return self.findings.words_in(loop.body.start_byte, loop.body.end_byte)

    def _own(self, loop: _ForLoop) -> frozenset[str]:
        """Return the names that are declared directly in a loop's body."""
        return self._declared(loop, loop.body.end_byte - 1)

    def _declared(self, loop: _ForLoop, at: int) -> frozenset[str]:
        """Return the names declared in a loop's body before an offset and visible there."""
        found = self.findings.declared_in(loop.body.start_byte, at)
        return frozenset(one.name for one in found if one.end > at)

    # -- fission ----------------------------------------------------------------------------

    def _in_body(self, loop: _ForLoop) -> Iterator[RuleDraft]:
        """Yield the seams before statements of a loop's body, where the loop can be divided."""
        statements = loop.body.named_children if loop.in_braces else []
        for k, (before, after) in enumerate(pairwise(statements), 1):
            if self._can_divide(loop, before, after) and all(
                any(one.type.endswith("_statement") for one in half)
                for half in (statements[:k], statements[k:])
            ):
                at = self._beginning(after)
                hidden = self._declared(loop, at)
                if is_first(self.findings.text, at):
                    at = line_start(self.findings.text, at)
                seam = Seam(loop.start, (loop.start, loop.close), loop.end, hidden=hidden)
                yield RuleDraft(RuleType.SEAM, at, at, self.function, seam=seam)

    def _can_divide(self, loop: _ForLoop, before: Node, after: Node) -> bool:
        """Tell whether a loop can be divided between two statements of its body."""
        at = self._beginning(after)
        later = self.findings.words_in(at, loop.body.end_byte)
        return (
            CONDITIONAL_TEXT.isdisjoint({before.type, after.type})
            and self.findings.reading.exposed.isdisjoint({at, after.start_byte})
            and self._are_neighbours(before.end_byte, at)
            and self._declared(loop, at).isdisjoint(later)
        )


def _is_left(body: Node) -> bool:
    """Tell whether a jump may leave a loop's body or enter it."""
    stack = [(body, False, False)]
    while stack:
        node, in_loop, in_switch = stack.pop()
        kind = node.type
        if kind in _OWN_RULES:
            continue
        if (
            kind in _LEAVING
            or (kind == "continue_statement" and not in_loop)
            or (kind == "break_statement" and not (in_loop or in_switch))
            or (kind == "case_statement" and not in_switch)
        ):
            return True
        in_loop, in_switch = in_loop or kind in _LOOPS, in_switch or kind == "switch_statement"
        stack.extend((child, in_loop, in_switch) for child in node.named_children)
    return False
