"""Assembly of a grammar from findings: names and facts of rules, control variables of loops."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gi_cuda.grammar.frontends.cuda.analysis import Analysis
from gi_cuda.grammar.frontends.cuda.rules.findings import Findings, LoopDraft, RuleDraft
from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.offers import RuleFacts
from gi_cuda.grammar.presence import spans_of
from gi_cuda.grammar.rule import Loop, Rule
from gi_cuda.grammar.rule_types import PAPER_TYPES, RuleType
from gi_cuda.grammar.scope import Declaration, NameUse, Scope
from gi_cuda.grammar.source import LineIndex, Source


def assemble(
    source: Source,
    analysis: Analysis,
    drafts: Sequence[tuple[str, RuleDraft]],
    specials: Mapping[str, str],
) -> Grammar:
    """Make a grammar of an analysis.

    Args:
        source: the source.
        analysis: the analysis of the source.
        drafts: the rules of the grammar, with their names.
        specials: texts of the special donors, by name.
    """
    findings = analysis.findings
    scope = Scope.of(_with_values(analysis))
    ordered = sorted(drafts, key=lambda pair: _order(pair[1]))
    places = LineIndex(source)
    rules = tuple(
        Rule(
            name,
            draft.type,
            *places.at(draft.start),
            draft.start,
            draft.end,
            analysis.functions[draft.function].name,
            draft.block,
            draft.sites,
            draft.seam,
            draft.choices,
        )
        for name, draft in ordered
    )
    loops = sorted(findings.loops, key=lambda loop: loop.start)
    return Grammar(
        source=source,
        rules=rules,
        loops=_loops(loops, rules, findings, places),
        functions=analysis.functions,
        facts={name: facts_of(draft, findings, scope) for name, draft in ordered},
        scope=scope,
        presence=findings.presence,
        specials=specials,
        includes=spans_of(findings.presence.directives, "include", source.text),
        macros=frozenset(findings.macros.names),
    )


def _order(draft: RuleDraft) -> tuple[int, int, str]:
    return draft.start, -draft.end, draft.type


def named(source: Source, drafts: Iterable[RuleDraft]) -> Iterator[tuple[str, RuleDraft]]:
    """Name rules by type, file and line; a second rule of a type on a line gets ``.2``."""
    places = LineIndex(source)
    seen: Counter[str] = Counter()
    for draft in sorted(drafts, key=_order):
        prefix = "" if draft.type is RuleType.STATEMENT else draft.type
        file, line = places.at(draft.start)
        name = f"{prefix}_{file}_{line}"
        seen[name] += 1
        yield (name if seen[name] == 1 else f"{name}.{seen[name]}"), draft


def facts_of(draft: RuleDraft, findings: Findings, scope: Scope) -> RuleFacts:
    """Return the facts about a rule's text: the names it uses, assigns and declares."""
    presence = findings.presence
    uses: dict[tuple[str, int], NameUse] = {}
    for at, name in findings.used_in(draft.start, draft.end):
        region = presence.region(at)
        if (name, region) in uses:
            continue
        meant = next(scope.visible(name, at, draft.function), None)
        if meant is not None and draft.start <= meant.start < draft.end:
            continue
        uses[name, region] = NameUse(name, at, region, _assigned_at(findings, at, name) is None)
    declares: tuple[tuple[str, str], ...] = ()
    if draft.type is RuleType.FOR1:
        declares = tuple(
            (d.name, d.type)
            for d in findings.declared_in(draft.start + 1, draft.end + 1)
            if d.function == draft.function
        )
    at = draft.start if draft.at is None else draft.at
    return RuleFacts(
        draft.function,
        presence.region(draft.start),
        tuple(uses.values()),
        findings.assigned_in(draft.start, draft.end),
        declares,
        at,
        draft.value,
    )


def _with_values(analysis: Analysis) -> list[Declaration]:
    """Return the declarations; set, for bare variables, where they may first have a value."""
    findings, presence = analysis.findings, analysis.findings.presence
    scope = Scope.of(findings.declarations)
    bare = {one.name for one in findings.declarations if one.bare}
    first: dict[Declaration, int] = {}
    for number, function in enumerate(analysis.functions):
        for at, name in findings.used_in(function.start, function.end):
            for meant in scope.visible(name, at, number) if name in bare else ():
                if meant.bare and meant not in first:
                    first[meant] = _assigned_at(findings, at, name) or at
                if presence.encloses(meant.region, presence.region(at)):
                    break
    return [
        replace(one, set=first.get(one, one.end)) if one.bare else one
        for one in findings.declarations
    ]


def _assigned_at(findings: Findings, at: int, name: str) -> int | None:
    """Return the end of a plain assignment (``=``) to a name at an offset.

    Return None if there is none, or if the assigned expression uses the name itself.
    """
    for start, end, root in findings.assignments_in(at, at + 1):
        rest = findings.text[at + len(name) : end].lstrip()
        plain = root == name and rest[:1] == "=" and rest[:2] != "=="
        if plain and all(used != name for _, used in findings.used_in(start + 1, end)):
            return end
    return None


def _loops(
    drafts: Sequence[LoopDraft], rules: Sequence[Rule], findings: Findings, places: LineIndex
) -> tuple[Loop, ...]:
    whole_if = {start: (first, last) for start, _, first, last in findings.exits}
    effects = {}
    for rule in rules:
        first, last = rule.start, rule.end
        if rule.type is RuleType.IF:
            first, last = whole_if.get(rule.start, (first, last))
        effects[rule.name] = findings.assigned_in(first, last)
        if rule.type not in PAPER_TYPES:
            effects[rule.name] |= findings.assigned_around(rule.start)
    starts = [rule.start for rule in rules]
    loops = []
    for ident, draft in enumerate(drafts):
        controls = _controls(draft, findings)
        inside = rules[bisect_right(starts, draft.keyword - 1) : bisect_right(starts, draft.end)]
        wanted = set(draft.header)
        header = frozenset(r.name for r in inside if (r.type, r.start) in wanted)
        header |= _parts_of(draft.parts, inside)
        header |= {r.name for r in inside if r.seam and r.seam.loop == draft.start}
        assigned = frozenset(r.name for r in inside if effects[r.name] & controls)
        assigned |= _exits(draft, inside, findings)
        assigned |= _parts_of([(r.start, r.end) for r in inside if r.name in assigned], inside)
        loops.append(
            Loop(
                ident,
                places.at(draft.keyword).line,
                draft.start,
                draft.end,
                draft.condition,
                header,
                assigned,
                controls,
            )
        )
    return tuple(loops)


def _parts_of(spans: Sequence[tuple[int, int]], inside: Sequence[Rule]) -> frozenset[str]:
    """Return the rules in some spans whose types are not the paper's."""
    return frozenset(
        rule.name
        for rule in inside
        if rule.type not in PAPER_TYPES
        and any(start <= rule.start and rule.end <= end for start, end in spans)
    )


def _controls(loop: LoopDraft, findings: Findings) -> frozenset[str]:
    """Return the names that a loop's condition reads, and those from which they are computed."""
    controls = {name for _, name in findings.used_in(*loop.condition)}
    if loop.endless:
        for start, end, first, last in findings.exits:
            if loop.keyword <= first and last <= loop.end and _jumps(first, last, findings):
                controls |= {name for _, name in findings.used_in(start, end)}
    inside = list(findings.assignments_in(loop.keyword, loop.end))
    grown = True
    while grown:
        grown = False
        for start, end, name in inside:
            if name in controls:
                more = {used for _, used in findings.used_in(start, end)} - controls
                controls |= more
                grown = grown or bool(more)
    return frozenset(controls)


def _exits(loop: LoopDraft, inside: Sequence[Rule], findings: Findings) -> frozenset[str]:
    """Return the rules that decide whether a loop without its own condition is left."""
    if not loop.endless:
        return frozenset()
    leaving = {start for start, _, first, last in findings.exits if _jumps(first, last, findings)}
    return frozenset(
        rule.name
        for rule in inside
        if (rule.type is RuleType.IF and rule.start in leaving)
        or (rule.type is RuleType.ELSE and _jumps(rule.start, rule.end, findings))
    )


def _jumps(start: int, end: int, findings: Findings) -> bool:
    return bisect_left(findings.jumps, start) < bisect_left(findings.jumps, end)
