"""From edits back to source text: splices into the original, never a second parse.

Everything an edit or a guard does to the text is a set of splices: a span and what stands there
instead. Insertions are splices with an empty span. A splice inside the span of one that takes
text away goes with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.kinds import KINDS, Join
from gi_cuda.grammar.model import Expansion, Loop, Rule, RuleType

UNSEEN_LIMIT = 1000
"""Iterations allowed to a loop for which no limit is given."""

_TAIL = re.compile(r"[ \t]*(?://[^\n\\]*|/\*(?:(?!\*/)[^\n])*\*/[ \t]*)?\r?(?:\n|\Z)")
_CLOSE, _OPEN, _TEXT = 0, 1, 2


class Splice(NamedTuple):
    """Text that stands for a span; at one offset what closes comes before what opens."""

    start: int
    phase: int
    depth: int
    end: int
    text: str


def render(
    grammar: Grammar,
    expansions: Mapping[str, Expansion],
    limits: Mapping[int, int] | None = None,
) -> str:
    """The variant's source text.

    Args:
        expansions: by rule name, what becomes of it; rules not named stay as they are.
        limits: by loop ident, the most iterations allowed; loops that the expansions touch are
            guarded. None: no guards at all.

    Raises:
        KeyError: a rule or donor that the grammar does not have.
    """
    if not expansions:
        return grammar.source.text
    splices: list[Splice] = []
    for name, expansion in expansions.items():
        splices += _edit(grammar, grammar.rule(name), expansion, limits)
    if limits is not None:
        for ident in touched_loops(grammar, expansions):
            splices += _guard(grammar, grammar.loops[ident], expansions, limits)
    return _splice(grammar.source.text, splices)


def touched_loops(grammar: Grammar, expansions: Mapping[str, Expansion]) -> frozenset[int]:
    """Idents of the loops whose end the expansions may put off: their guard is needed."""
    touched = set()
    for name, expansion in expansions.items():
        rule = grammar.rule(name)
        donors = (*expansion.before, *((expansion.body,) if expansion.body else ()))
        brought: frozenset[str] = frozenset().union(
            *(grammar.facts[donor].assigns for donor in donors if donor in grammar.facts)
        )
        for loop in grammar.loops:
            if not loop.start <= rule.start <= loop.end:
                continue
            header = name in loop.header
            dropped = expansion.body is not None and name in loop.assigned
            governed = rule.type is not RuleType.STATEMENT and name in loop.assigned
            if header or dropped or governed or brought & loop.controls:
                touched.add(loop.ident)
        for donor in donors:
            touched |= {loop.ident for loop in _loops_in(grammar, donor)}
    return frozenset(touched)


def instrument(grammar: Grammar) -> str:
    """The source with every loop counting: after each true condition it calls
    ``gi_loop(loop ident, iterations so far)``, which the back end supplies and which is true."""
    splices: list[Splice] = []
    for loop in grammar.loops:
        splices += _wrap(
            grammar,
            loop,
            f"gi_count_{loop.ident}",
            f"gi_loop({loop.ident}u, ++gi_count_{loop.ident})",
            loop.condition[0] < loop.condition[1],
        )
    return _splice(grammar.source.text, splices)


def _splice(text: str, splices: list[Splice]) -> str:
    taken = [(s.start, s.end) for s in splices if s.end > s.start]
    taken = [s for s in taken if not any(o != s and o[0] <= s[0] and s[1] <= o[1] for o in taken)]
    parts, at = [], 0
    for splice in sorted(splices):
        if any(
            (first < splice.start < last)
            or (
                first <= splice.start
                and splice.end <= last
                and (first, last) != (splice.start, splice.end)
                and splice.end > splice.start
            )
            for first, last in taken
        ):
            continue
        parts.append(text[at : splice.start])
        parts.append(splice.text)
        at = splice.end
    parts.append(text[at:])
    return "".join(parts)


# -- edits -----------------------------------------------------------------------------------


def _edit(
    grammar: Grammar, rule: Rule, expansion: Expansion, limits: Mapping[int, int] | None
) -> Iterable[Splice]:
    text = grammar.source.text
    if not expansion.before and expansion.body is None:
        return ()
    if rule.type is RuleType.RESTRICT:
        return _restrict(grammar, rule, expansion)
    before = [_donor(grammar, donor, rule, limits) for donor in expansion.before]
    if expansion.body is None:
        return _insert(text, rule, before)
    if expansion.body:
        before.append(_donor(grammar, expansion.body, rule, limits))
    elif not before or KINDS[rule.type].deleted:
        if rule.type in _DELETIONS and not before:
            return _DELETIONS[rule.type](text, rule)
        before.append(KINDS[rule.type].deleted or "")
    return _replace(text, rule, before)


def _replace(text: str, rule: Rule, parts: list[str]) -> Iterable[Splice]:
    """Put ``parts``, joined as the rule's type has it, in the place of the rule."""
    join = KINDS[rule.type].join
    if len(parts) == 1:
        body = parts[0]
    elif join is Join.CONJUNCTION:
        body = " && ".join(f"({part})" for part in parts)
    elif join is Join.SEQUENCE:
        body = ", ".join(parts)
    else:
        body = _separator(text, rule).join(parts)
        if not rule.block:
            body = "{ " + " ".join(parts) + " }"
    if rule.start == rule.end:
        body = _into_gap(text, rule, body)
    return (Splice(rule.start, _TEXT, -rule.end, rule.end, body),)


def _insert(text: str, rule: Rule, parts: list[str]) -> Iterable[Splice]:
    """Put ``parts`` before the rule, whose own text stays."""
    join = KINDS[rule.type].join
    opener, closer = "", ""
    if join is Join.CONJUNCTION:
        opener = "".join(f"({part}) && " for part in parts) + "("
        closer = ")"
    elif join is Join.SEQUENCE:
        opener = "".join(f"{part}, " for part in parts)
    elif rule.block:
        gap = _separator(text, rule)
        opener = "".join(part + gap for part in parts)
    else:
        opener = "{ " + "".join(part + " " for part in parts)
        closer = " }"
    start, end = rule.start, rule.end
    yield Splice(start, _OPEN, -end, start, opener)
    if closer:
        yield Splice(end, _CLOSE, -start, end, closer)


def _delete_statement(text: str, rule: Rule) -> Iterable[Splice]:
    start, end = rule.start, rule.end
    if not rule.block:
        return (Splice(start, _TEXT, -end, end, ";"),)
    line = text.rfind("\n", 0, start) + 1
    tail = _TAIL.match(text, end)
    if tail is not None and text[line:start].strip(" \t") == "":
        start, end = line, tail.end()
    return (Splice(start, _TEXT, -end, end, ""),)


def _delete_else(text: str, rule: Rule) -> Iterable[Splice]:
    start, end = rule.start, rule.end
    if not rule.block:
        return (Splice(start, _TEXT, -end, end, "else ;"),)
    before = len(text[:start].rstrip(" \t")) if text[start - 1 : start] in (" ", "\t") else start
    if text[before - 1 : before] == "\n" and _TAIL.match(text, end) is not None:
        line = text.rfind("\n", 0, before - 1) + 1
        above = text[line : before - 1]
        if "//" not in above and not above.rstrip().endswith(("\\", "*/")) and "#" not in above:
            before = line + len(above.rstrip())
    return (Splice(before, _TEXT, -end, end, ""),)


def _delete_pragma(text: str, rule: Rule) -> Iterable[Splice]:
    line = text.rfind("\n", 0, rule.start) + 1
    newline = text.find("\n", rule.end)
    if newline < 0 or text[rule.end : newline].strip():
        return (Splice(rule.start, _TEXT, -rule.end, rule.end, ""),)
    return (Splice(line, _TEXT, -newline - 1, newline + 1, ""),)


def _delete_bounds(text: str, rule: Rule) -> Iterable[Splice]:
    end = rule.end + (text[rule.end : rule.end + 1] == " ")
    return (Splice(rule.start, _TEXT, -end, end, ""),)


_DELETIONS = {
    RuleType.STATEMENT: _delete_statement,
    RuleType.ELSE: _delete_else,
    RuleType.PRAGMA: _delete_pragma,
    RuleType.BOUNDS: _delete_bounds,
}


def _restrict(grammar: Grammar, rule: Rule, expansion: Expansion) -> Iterable[Splice]:
    text = grammar.source.text
    keyword = grammar.text(expansion.body) if expansion.body else ""
    for start, end in rule.sites:
        if start < end:
            if not keyword:
                end += text[end : end + 1] == " "
                yield Splice(start, _TEXT, -end, end, "")
        elif keyword:
            gap = "" if text[start : start + 1].isspace() else " "
            yield Splice(start, _TEXT, -end, end, f" {keyword}{gap}")


def _into_gap(text: str, rule: Rule, body: str) -> str:
    """What is put where the source spells nothing out."""
    if rule.type is RuleType.BOUNDS:
        return " " + body
    indent = _indent(text, rule.start)
    return (
        body + _newline(text) + indent
        if indent is not None
        else _newline(text) + body + _newline(text)
    )


# -- donors ----------------------------------------------------------------------------------


def _donor(grammar: Grammar, donor: str, place: Rule, limits: Mapping[int, int] | None) -> str:
    """A donor's text for a place: its loops guarded, its further lines indented as there."""
    body = grammar.text(donor)
    if limits is not None:
        splices: list[Splice] = []
        start = 0
        for loop in _loops_in(grammar, donor):
            start = grammar.rule(donor).start
            for splice in _guard(grammar, loop, {}, limits):
                splices.append(splice._replace(start=splice.start - start, end=splice.end - start))
        body = _splice(body, splices)
    if "\n" not in body or donor in grammar.specials or 'R"' in body or "\\\n" in body:
        return body
    text = grammar.source.text
    origin = _indent_of_line(text, grammar.rule(donor).start)
    here = _indent_of_line(text, place.start)
    return body if origin == here else body.replace("\n" + origin, "\n" + here)


def _loops_in(grammar: Grammar, donor: str) -> tuple[Loop, ...]:
    if donor in grammar.specials:
        return ()
    rule = grammar.rule(donor)
    if rule.type is not RuleType.ELSE:
        return ()
    return tuple(loop for loop in grammar.loops if rule.start < loop.start and loop.end <= rule.end)


# -- guards ----------------------------------------------------------------------------------


def _guard(
    grammar: Grammar,
    loop: Loop,
    expansions: Mapping[str, Expansion],
    limits: Mapping[int, int],
) -> Iterable[Splice]:
    counter = f"gi_guard_{loop.ident}"
    limit = limits.get(loop.ident, UNSEEN_LIMIT)
    start, end = loop.condition
    conditional = start < end
    for name in loop.header & expansions.keys():
        rule = grammar.rule(name)
        if (rule.start, rule.end) == (start, end):
            expansion = expansions[name]
            conditional = (
                bool(expansion.before) or expansion.body != "" or bool(KINDS[rule.type].deleted)
            )
    return _wrap(grammar, loop, counter, f"{counter}++ < {limit}", conditional)


def _wrap(
    grammar: Grammar, loop: Loop, counter: str, test: str, conditional: bool
) -> Iterable[Splice]:
    """Give a loop a counter of its own and one more condition."""
    text = grammar.source.text
    gap = _newline(text) if text[loop.start : loop.start + 1] == "#" else " "
    start, end = loop.condition
    yield Splice(loop.start, _OPEN, -loop.end - 1, loop.start, f"{{ unsigned {counter} = 0;{gap}")
    if conditional:
        yield Splice(start, _OPEN, -end - 1, start, "(")
        yield Splice(end, _CLOSE, -start + 1, end, f") && {test}")
    else:
        yield Splice(end, _CLOSE, -start + 1, end, test)
    yield Splice(loop.end, _CLOSE, -loop.start + 1, loop.end, " }")


# -- layout ----------------------------------------------------------------------------------


def _indent(text: str, at: int) -> str | None:
    """The white space before ``at``; None where something else stands before it on the line."""
    line = text.rfind("\n", 0, at) + 1
    before = text[line:at]
    return before if before.strip(" \t") == "" else None


def _indent_of_line(text: str, at: int) -> str:
    line = text.rfind("\n", 0, at) + 1
    end = line
    while text[end : end + 1] in (" ", "\t") and end < at:
        end += 1
    return text[line:end]


def _separator(text: str, rule: Rule) -> str:
    indent = _indent(text, rule.start)
    return " " if indent is None else _newline(text) + indent


def _newline(text: str) -> str:
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"
