"""Render edits as source text, by splices into the original text without parsing it again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from gi_cuda.grammar.frontends.cuda.rendering.guard import guards, loops_in, touched_loops
from gi_cuda.grammar.frontends.cuda.rendering.seam_edits import divided, fused, without_lost_names
from gi_cuda.grammar.grammar import Grammar, View
from gi_cuda.grammar.rule import Expansion, Rule, Seam
from gi_cuda.grammar.rule_types import Join, RuleType
from gi_cuda.grammar.source import Source
from gi_cuda.grammar.splice import (
    Splice,
    closing,
    indent,
    is_first,
    line_start,
    newline,
    opening,
    removing,
    replacing,
    separator,
    splice,
    spliced,
)

_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\n\\]*|/\*(?:(?!\*/)[^\n])*\*/[ \t]*)?\r?(?:\n|\Z)")
_ONE_WORD = re.compile(r"[\w.']+|\w+(?:\[[^\[\]()]*\])+")
_FIXED_LAYOUT = re.compile(r'R"|\\\r?\n')


def render(
    grammar: Grammar, expansions: Mapping[str, Expansion], limits: Mapping[int, int] | None = None
) -> str:
    """Return a variant's source text; without expansions exactly the source.

    Args:
        grammar: the grammar.
        expansions: the expansion of each changed rule, by name. Expansions of rules inside a
            replaced or deleted rule have no effect.
        limits: largest number of iterations of each loop, by ident. Loops that the expansions may
            keep from ending get guards. None: no guards.

    Raises:
        KeyError: the grammar does not have one of the rules or donors.
    """
    if not expansions:
        return grammar.source.text
    return splice(grammar.source.text, line_splices(grammar, expansions, limits))


def rendered(grammar: Grammar, expansions: Mapping[str, Expansion]) -> Source:
    """Return a variant's source without guards: the text of :func:`render`, with its parts.

    No rule lies across two parts, so each file of the variant consists of its own parts.

    Raises:
        KeyError: the grammar does not have one of the rules or donors.
    """
    return spliced(grammar.source, line_splices(grammar, expansions, None))


def line_splices(
    grammar: Grammar, expansions: Mapping[str, Expansion], limits: Mapping[int, int] | None
) -> list[Splice]:
    """Return the splices of all expansions except transformations, and of the guards."""
    expansions = without_lost_names(grammar, expansions)
    gone = without_text(expansions)
    splices = edits(grammar, expansions, limits)
    if limits is not None:
        touched = touched_loops(grammar, expansions)
        kept = [i for i in touched if gone.isdisjoint(grammar.loop_holders[i])]
        splices += guards(grammar, [grammar.loops[i] for i in kept], expansions, limits)
    return splices


def edits(
    grammar: Grammar,
    expansions: Mapping[str, Expansion],
    limits: Mapping[int, int] | None = None,
) -> list[Splice]:
    """Return the splices of all expansions except transformations.

    With limits, only the loops that come with donors and fissions get guards.
    """
    gone = without_text(expansions)
    return [
        one
        for name in expansions
        if gone.isdisjoint(grammar.holders[name]) and not grammar.rule(name).type.kind.transforms
        for one in _edit(grammar, grammar.rule(name), expansions, limits)
    ]


def without_text(expansions: Mapping[str, Expansion]) -> frozenset[str]:
    """Return the rules whose own text is replaced or deleted."""
    return frozenset(name for name, one in expansions.items() if one.body is not None)


def in_force(view: View, expansions: Mapping[str, Expansion]) -> dict[str, Expansion]:
    """Return the expansions that have an effect under a configuration.

    Another configuration than the one under which an edit was made may not compile the edit's place
    or donor, or may give a donor's names another meaning there. The edit then has no effect under
    that configuration: an insert is left out, a replaced rule keeps its text.
    """
    found = {}
    for name, expansion in expansions.items():
        if not view.is_active(name):
            continue
        before = tuple(donor for donor in expansion.before if view.may_go(donor, name))
        body = expansion.body
        if body and not view.may_go(body, name):
            body = None
        if before or body is not None:
            found[name] = Expansion(before, body)
    return found


def _edit(
    grammar: Grammar,
    rule: Rule,
    expansions: Mapping[str, Expansion],
    limits: Mapping[int, int] | None,
) -> Iterator[Splice]:
    """Yield the splices of one rule's expansion."""
    text, expansion = grammar.source.text, expansions[rule.name]
    if rule.type is RuleType.RESTRICT:
        yield from _switch(grammar, rule, expansion)
        return
    if rule.seam is not None:
        yield from _at_seam(grammar, rule, rule.seam, expansions, limits)
        return
    parts = [_donor(grammar, donor, rule, limits) for donor in expansion.before]
    if expansion.body is None:
        if parts:
            yield from _insert(text, rule, parts)
        return
    if expansion.body:
        parts.append(_donor(grammar, expansion.body, rule, limits))
    elif not parts:
        yield _DELETIONS.get(rule.type, _delete)(text, rule)
        return
    elif rule.type.kind.deleted:
        parts.append(rule.type.kind.deleted or "")
    yield replacing(rule.start, rule.end, _join(text, rule, parts))


def _at_seam(
    grammar: Grammar,
    rule: Rule,
    seam: Seam,
    expansions: Mapping[str, Expansion],
    limits: Mapping[int, int] | None,
) -> Iterator[Splice]:
    """Return the splices of a fusion or fission; if guards are used, both loops get one."""
    text = grammar.source.text
    if not expansions[rule.name].body:
        return fused(text, rule, seam, _REST_OF_LINE)
    seams = {name: one for name, one in expansions.items() if grammar.rule(name).seam}
    loops = [loop for loop in grammar.loops if loop.start == seam.loop]
    guard = () if limits is None else tuple(guards(grammar, loops, seams, limits))
    return divided(text, rule, seam, guard)


def _join(text: str, rule: Rule, parts: list[str]) -> str:
    """Join donors' texts for a rule's place; add white space if the rule's text is empty."""
    if rule.type is RuleType.BOUNDS:
        return parts[-1] if rule.start < rule.end else " " + parts[-1]
    if rule.type is RuleType.PRAGMA and rule.start == rule.end:
        before = "" if is_first(text, rule.start) else newline(text, rule.start)
        return before + parts[-1] + newline(text, rule.start) + indent(text, rule.start)
    join = rule.type.kind.join
    if len(parts) == 1:
        return _as_operand(parts[0]) if rule.type.kind.tight else parts[0]
    match join:
        case Join.CONJUNCTION:
            return " && ".join(f"({part})" for part in parts)
        case Join.OPERAND:
            return "(" + " && ".join(f"({part})" for part in parts) + ")"
        case Join.SEQUENCE:
            return ", ".join(parts)
        case _ if rule.block:
            return separator(text, rule.start).join(parts)
        case _:
            return f"{{ {' '.join(parts)} }}"


def _as_operand(text: str) -> str:
    """Return a text as an operand: in parentheses, unless it is a single word."""
    return text if _ONE_WORD.fullmatch(text) else f"({text})"


def _insert(text: str, rule: Rule, parts: list[str]) -> Iterator[Splice]:
    """Yield splices that insert ``parts`` before a rule, whose own text stays."""
    start, end = rule.start, rule.end
    match rule.type.kind.join:
        case Join.CONJUNCTION:
            yield opening(start, end, "".join(f"({part}) && " for part in parts) + "(")
            yield closing(start, end, ")")
        case Join.OPERAND:
            yield opening(start, end, "(" + "".join(f"({part}) && " for part in parts) + "(")
            yield closing(start, end, "))")
        case Join.SEQUENCE:
            yield opening(start, end, "".join(f"{part}, " for part in parts))
        case _ if rule.block:
            gap = separator(text, start)
            yield opening(start, end, "".join(part + gap for part in parts))
        case _:
            yield opening(start, end, "{ " + "".join(part + " " for part in parts))
            yield closing(start, end, " }")


# -- deletions: each rule type leaves the text as a maintainer would ----------------------------


def _delete(text: str, rule: Rule) -> Splice:
    return replacing(rule.start, rule.end, rule.type.kind.deleted or "")


def _delete_statement(text: str, rule: Rule) -> Splice:
    """Delete a statement, with its whole line if nothing else is on the line."""
    if not rule.block:
        return replacing(rule.start, rule.end, ";")
    return removing(text, rule.start, rule.end, _REST_OF_LINE)


def _delete_else(text: str, rule: Rule) -> Splice:
    """Delete an ``else`` and the white space before it, unless that ends a comment or directive."""
    if not rule.block:
        return replacing(rule.start, rule.end, "else ;")
    start = len(text[: rule.start].rstrip(" \t"))
    if text.endswith("\n", 0, start) and _REST_OF_LINE.match(text, rule.end):
        line = line_start(text, start - 1)
        above = text[line : start - 1].rstrip()
        if above.endswith((";", "}")) and "//" not in above and not above.lstrip().startswith("#"):
            start = line + len(above)
    elif not text[start - 1 : start].strip():
        start = rule.start
    return replacing(start, rule.end, "")


def _delete_pragma(text: str, rule: Rule) -> Splice:
    """Delete a pragma with its line, so that a guard can still be inserted at its start."""
    rest = _REST_OF_LINE.match(text, rule.end)
    if rest is None:
        return replacing(rule.start, rule.end, "")
    end = rest.end()
    if line_start(text, rule.start) < rule.start:
        while text[end : end + 1] in (" ", "\t"):
            end += 1
    return replacing(rule.start, end, "")


def _delete_bounds(text: str, rule: Rule) -> Splice:
    end = rule.end + text.startswith(" ", rule.end)
    return replacing(rule.start, end, "" if text[rule.start - 1].isspace() else " ")


_DELETIONS: dict[RuleType, Callable[[str, Rule], Splice]] = {
    RuleType.STATEMENT: _delete_statement,
    RuleType.ELSE: _delete_else,
    RuleType.PRAGMA: _delete_pragma,
    RuleType.BOUNDS: _delete_bounds,
}


def _switch(grammar: Grammar, rule: Rule, expansion: Expansion) -> Iterator[Splice]:
    """Yield splices that add the keyword at each site that lacks it, or remove it at all sites."""
    text = grammar.source.text
    keyword = grammar.text(expansion.body) if expansion.body else ""
    for start, end in rule.sites:
        if start == end and keyword:
            gap = "" if text[start : start + 1].isspace() else " "
            yield replacing(start, end, f" {keyword}{gap}")
        elif start < end and expansion.body == "":
            yield replacing(start, end + text.startswith(" ", end), "")


def _donor(grammar: Grammar, donor: str, place: Rule, limits: Mapping[int, int] | None) -> str:
    """Return a donor's text for a place, with guarded loops and with the place's indentation."""
    body = grammar.text(donor)
    if donor in grammar.specials:
        return body
    origin = grammar.rule(donor)
    if limits is not None and (loops := loops_in(grammar, donor)):
        moved = (
            one._replace(start=one.start - origin.start, end=one.end - origin.start)
            for one in guards(grammar, loops, {}, limits)
        )
        body = splice(body, moved)
    if "\n" not in body or _FIXED_LAYOUT.search(body):
        return body
    there, here = (indent(grammar.source.text, rule.start) for rule in (origin, place))
    return body if there == here else body.replace("\n" + there, "\n" + here)
