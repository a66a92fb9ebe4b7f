"""Read a source with its hand-edited ``.bnf`` and ``.scope`` as a grammar."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gi_cuda.errors import UserError
from gi_cuda.grammar.frontends.cuda.analysis import Analysis, analyse
from gi_cuda.grammar.frontends.cuda.rendering.supplied import TYPES, Supplied, supplied_facts
from gi_cuda.grammar.frontends.cuda.rendering.transformed import add_sites
from gi_cuda.grammar.frontends.cuda.rules.findings import RuleDraft
from gi_cuda.grammar.frontends.cuda.rules.naming import assemble, named
from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.notation.bnf import lay_out, read_bnf, unreached
from gi_cuda.grammar.notation.lines import Production, Text
from gi_cuda.grammar.notation.scope import read_scope
from gi_cuda.grammar.rule_types import PAPER_TYPES, RuleType, type_of
from gi_cuda.grammar.source import Source

Span = tuple[int, int]


def read_grammar(
    source: Source,
    bnf_text: str,
    scope_text: str,
    kernels: Sequence[str] | None = None,
    types: frozenset[RuleType] = PAPER_TYPES,
    called: tuple[str, str] | None = None,
) -> Grammar:
    """Return the grammar that a source's ``.bnf`` and ``.scope`` describe.

    A rule that the ``.bnf`` writes out as text becomes fixed text; a rule that the ``.bnf`` adds
    becomes variable. A place that the ``.scope`` omits is forbidden; a place that it adds is
    allowed.

    Args:
        source: the source.
        bnf_text: text of the ``.bnf``.
        scope_text: text of the ``.scope``.
        kernels: names of the kernels; None: all.
        types: types of the rules; the types in the ``.bnf`` are added.
        called: names of the two files in messages; by default ``<source>.bnf`` and
            ``<source>.scope``.

    Raises:
        UserError: a file is not in its notation, does not match the source, or has an impossible
            rule. The message has the file and line.
    """
    name, scope_name = called or (f"{source.name}.bnf", f"{source.name}.scope")
    found = read_bnf(bnf_text, name)
    types |= {kind for symbol in found if (kind := type_of(symbol)) is not None}
    analysis = analyse(source, kernels, types)
    add_sites(source, analysis, types)
    met: dict[str, list[Span]] = {}
    for symbol, start, end in lay_out(found, source, name):
        met.setdefault(symbol, []).append((start, end))
    front = dict(named(source, analysis.findings.rules))
    files = "|".join(re.escape(file) for file in source.names)
    shape = re.compile(rf"[A-Za-z0-9]*_(?:{files})_\d+(?:\.\d+)?")
    line = re.compile(rf"(?:{files})(?:_\d+)?")
    rules: dict[str, RuleDraft] = {}
    for symbol, spans in met.items():
        if line.fullmatch(symbol):
            continue
        where = f"{name}:{found[symbol].line}"
        kind = type_of(symbol)
        if kind is None or not shape.fullmatch(symbol):
            raise UserError(
                f"<{symbol}> is not the name of a rule of {source.name}",
                where=where,
                hint=f"rules are named like <_{source.name}_1> or <IF_{source.name}_1.2>",
            )
        rules[symbol] = _draft(kind, spans, front.get(symbol), analysis, where)
    specials, supplied = _without_place(found, list(met), name)
    further = supplied_facts(source, kernels, types, analysis, supplied)
    grammar = assemble(source, analysis, list(rules.items()), specials)
    grammar = replace(grammar, facts={**grammar.facts, **further})
    retired = {symbol: draft.type for symbol, draft in front.items() if symbol not in rules}
    changes = read_scope(scope_text, grammar, retired, scope_name)
    return replace(grammar, changes=changes)


def _draft(
    kind: RuleType,
    spans: Sequence[Span],
    known: RuleDraft | None,
    analysis: Analysis,
    where: str,
) -> RuleDraft:
    """Return the front end's rule if the spans are the same; else a new rule.

    Raises:
        UserError: there can be no rule of this type there.
    """
    start, end = spans[0]
    if known is not None and known.type is kind:
        if kind is RuleType.RESTRICT and set(spans) <= set(known.sites):
            return replace(known, start=start, end=end, sites=tuple(spans))
        if spans == [(known.start, known.end)]:
            return known
    function = next(
        (k for k, f in enumerate(analysis.functions) if f.start <= start and end <= f.end), None
    )
    if kind.special or len(spans) > 1 or start == end or function is None:
        raise UserError(
            f"a rule of type {kind} cannot be here",
            where=where,
            hint="added rules stand once, for some text, in a function that evolves",
        )
    before = analysis.findings.reading.bare[:start].rstrip()
    return RuleDraft(kind, start, end, function, block=before[-1:] in ("{", "}", ";"))


def _without_place(
    found: Mapping[str, Production], reached: Sequence[str], name: str
) -> tuple[dict[str, str], list[Supplied]]:
    """Return the donors that stand for no place: productions that the source does not use.

    Returns:
        The text of each of these donors, by name, and the donors that were written by hand.

    Raises:
        UserError: a production is not a donor.
    """
    texts, supplied = {}, []
    for production in unreached(found, reached):
        kind = type_of(production.name)
        if kind is None or not re.fullmatch(r"[A-Za-z0-9]*_K[A-Za-z0-9]*", production.name):
            continue
        where = f"{name}:{production.line}"
        items = [item.text for item in production.items if isinstance(item, Text)]
        if len(items) != 1 or len(production.items) != 1 or not (kind.special or kind in TYPES):
            raise UserError(
                f"<{production.name}> is not a donor",
                where=where,
                hint="a donor that stands for no place is one text, for pragma, optrestrict,"
                " launchbounds, num, a statement, a condition, rhs or op",
            )
        texts[production.name] = items[0]
        if not kind.special:
            supplied.append(Supplied(production.name, kind, items[0], where))
    return texts, supplied
