"""Supplied donors: donors that are not in the source, written into its ``.bnf`` by hand.

A supplied donor is read as if it were at the first place where all of its names are declared. So it
has a scope and a type like the source's own rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.cuda.analysis import Analysis, analyse, types_in
from gi_cuda.grammar.frontends.cuda.declarations.infer import Inference
from gi_cuda.grammar.frontends.cuda.rules.findings import RuleDraft
from gi_cuda.grammar.frontends.cuda.text.syntax import parse
from gi_cuda.grammar.offers import RuleFacts
from gi_cuda.grammar.rule_types import RuleType
from gi_cuda.grammar.scope import FILE_LEVEL, NameUse, Scope
from gi_cuda.grammar.source import Source
from gi_cuda.grammar.values import Demand, Value

TYPES = frozenset({RuleType.STATEMENT}) | frozenset(
    kind for kind in RuleType if kind.kind.condition or kind.kind.valued
)
"""The types of donors that can be supplied."""

_NAMES = frozenset({"identifier", "type_identifier", "namespace_identifier"})
_SEVERAL = frozenset({"ERROR", "comma_expression"})


@dataclass(frozen=True, slots=True)
class Supplied:
    """A supplied donor.

    Attributes:
        name: symbol of the donor, for example ``rhs_K1``.
        type: type of the donor, one of TYPES.
        text: text of the donor.
        where: file and line, for error messages.
    """

    name: str
    type: RuleType
    text: str
    where: str

    @property
    def probe(self) -> tuple[str, str]:
        """The texts before and after the donor with which it is read as a separate statement."""
        if self.type is RuleType.STATEMENT:
            return "{ ", " } "
        return "(", "); "


@dataclass(frozen=True, slots=True)
class _Home:
    """The place at which a donor is read: an offset in the source, and the function's number."""

    at: int
    function: int


def supplied_facts(
    source: Source,
    kernels: Sequence[str] | None,
    types: frozenset[RuleType],
    analysis: Analysis,
    donors: Sequence[Supplied],
) -> dict[str, RuleFacts]:
    """Return the facts about each donor's text, by the donor's name.

    Args:
        source: the source.
        kernels: names of the kernels; None: all.
        types: types of the rules.
        analysis: the analysis of the source for these kernels and types.
        donors: the donors.

    Raises:
        UserError: a donor is not of the type that its name says; no place has all its names
            declared; or its C++ type is uncertain.
    """
    if not donors:
        return {}
    scope = Scope.of(analysis.findings.declarations)
    homes = {one.name: _home(one, analysis, scope) for one in donors}
    text, spans = _with_probes(source.text, [(homes[one.name], one) for one in donors])
    probed = Source(source.name, text, beside=source.beside)
    read = analyse(probed, kernels, types | TYPES)
    root = parse(read.findings.reading.code)
    book = types_in(probed, root, read.bodies)
    inference = Inference(read.findings, Scope.of(read.findings.declarations), book)
    presence = analysis.findings.presence
    found = {}
    for one in donors:
        home, (start, end) = homes[one.name], spans[one.name]
        region = presence.region(home.at)
        uses = dict.fromkeys(name for _, name in read.findings.used_in(start, end))
        node = root.descendant_for_byte_range(start, end)
        found[one.name] = RuleFacts(
            home.function,
            region,
            tuple(NameUse(name, home.at, region) for name in uses),
            read.findings.assigned_in(start, end),
            at=home.at,
            value=_value(one, node, inference, home.function),
        )
    return found


def _value(one: Supplied, node: Node | None, inference: Inference, function: int) -> Value | None:
    """Return the value of a donor that is an expression; None for other types.

    Raises:
        UserError: the C++ type of the expression is uncertain.
    """
    if not one.type.kind.valued:
        return None
    typed = inference.typed(node, function)
    if typed is None:
        raise UserError(
            f"the type of <{one.name}> is not certain",
            where=one.where,
            hint="write a cast around it, such as (int)(...)",
        )
    return Value(typed.type, typed.variable, Demand(typed.type))


def _with_probes(
    text: str, donors: Sequence[tuple[_Home, Supplied]]
) -> tuple[str, dict[str, tuple[int, int]]]:
    """Return the source with the donors inserted, and the span of each donor in it."""
    parts, spans = [], {}
    last = length = 0
    for home, one in sorted(donors, key=lambda pair: pair[0].at):
        before, after = one.probe
        parts += [text[last : home.at], before, one.text, after]
        start = length + home.at - last + len(before)
        spans[one.name] = start, start + len(one.text)
        length = start + len(one.text) + len(after)
        last = home.at
    return "".join((*parts, text[last:])), spans


def _home(one: Supplied, analysis: Analysis, scope: Scope) -> _Home:
    """Return the first statement's place where the donor's names are declared.

    Names that the source does not declare at all are ignored.

    Raises:
        UserError: there is no such place.
    """
    names = set(_names(one))
    declared = {name for _, name in scope.tables}
    for draft in sorted(_statements(analysis), key=lambda draft: draft.start):
        missing = (
            name
            for name in names & declared
            if next(scope.visible(name, draft.start, draft.function), None) is None
        )
        if next(missing, None) is None:
            return _Home(draft.start, draft.function)
    local = sorted(name for function, name in scope.tables if function != FILE_LEVEL)
    used = ", ".join(name for name in dict.fromkeys(local) if name in names)
    raise UserError(
        f"there is no place where all names of <{one.name}> are declared: {used}",
        where=one.where,
        hint="use names that one statement of the source can use together",
    )


def _statements(analysis: Analysis) -> Iterator[RuleDraft]:
    for draft in analysis.findings.rules:
        if draft.type is RuleType.STATEMENT and draft.block:
            yield draft


def _names(one: Supplied) -> Iterator[str]:
    """Yield the names that a donor uses.

    Raises:
        UserError: the donor is not one statement, or one expression, as its type requires.
    """
    before, after = one.probe
    head = "void f() { "
    text = f"{head}{before}{one.text}{after}}}"
    root = parse(text)
    start = len(head) + len(before)
    node = root.descendant_for_byte_range(start, start + len(one.text))
    if root.has_error or node is None or not _is_one(node, one):
        what = "one statement without a declaration" if before == "{ " else "an expression"
        raise UserError(
            f"<{one.name}> is not {what}: {one.text}",
            where=one.where,
            hint=f"it is {one.type.kind.words}; <_K1> would be a statement, <rhs_K1> an expression",
        )
    stack = [node]
    while stack:
        here = stack.pop()
        if here.type in _NAMES:
            yield text[here.start_byte : here.end_byte]
        stack.extend(here.named_children)


def _is_one(node: Node, one: Supplied) -> bool:
    """Tell whether a node is the whole donor, and is one statement or one expression."""
    whole = node.end_byte - node.start_byte == len(one.text.strip())
    if one.type is RuleType.STATEMENT:
        return whole and node.type == "expression_statement"
    return whole and node.type not in _SEVERAL and not node.type.endswith("_statement")
