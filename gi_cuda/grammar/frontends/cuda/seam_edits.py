"""What fusion and fission make of a text, at the seams of its loops."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gi_cuda.grammar.grammar import Grammar
from gi_cuda.grammar.rule import Expansion, Rule, Seam
from gi_cuda.grammar.splice import (
    Splice,
    closing,
    indent,
    line_start,
    newline,
    opening,
    removing,
    splice,
)

_MARGIN = re.compile(r"[ \t]*")


def fused(text: str, rule: Rule, seam: Seam, rest: re.Pattern[str]) -> Iterator[Splice]:
    """Two loops as one: the second header goes, and one block holds both bodies.

    Args:
        rest: what may follow on a line that goes with what it holds.
    """
    assert seam.first is not None, "what holds one loop cannot be deleted"
    first, last = seam.first
    yield _second_counter(text, removing(text, seam.header[0], rule.end, rest), rule.end, seam)
    if rule.start < last:
        yield removing(text, rule.start, last, rest)
    else:  # the bodies keep their braces, if they have any
        yield opening(first, last + 1, "{ ")
        yield closing(rule.end - 1, seam.end, " }")


def _second_counter(text: str, header: Splice, end: int, seam: Seam) -> Splice:
    """What takes a header away that ends at a place, with what comes instead of it."""
    if not seam.instead or header.end == end:
        return header._replace(text=seam.instead)
    margin = _MARGIN.match(text, header.end)
    assert margin is not None, "it may be empty"
    return header._replace(text=margin[0] + seam.instead + newline(text, header.start))


def divided(text: str, rule: Rule, seam: Seam, guard: Sequence[Splice] = ()) -> Iterator[Splice]:
    """One loop as two: it ends at the rule, and its header comes once more.

    Args:
        guard: what guards the loop; the second one gets the same.
    """
    start, end = seam.header
    inside = [
        one._replace(start=one.start - start, end=one.end - start)
        for one in guard
        if one.end <= end
    ]
    header = splice(text[start:end], inside)
    gap = newline(text, rule.start)
    if rule.start == line_start(text, rule.start):
        put = f"{_margin(text, start)}}}{gap}{indent(text, start)}{header} {{{gap}"
    elif header.startswith("#"):
        put = f"}}{gap}{header} {{{gap}"
    else:
        put = f"}} {header} {{ "
    yield opening(rule.start, rule.start, put)
    yield from (one for one in guard if one.end > end)


def _margin(text: str, start: int) -> str:
    """The white space before the keyword of a loop that begins at a place, with its pragma."""
    if not text.startswith("#", start):
        return indent(text, start)
    margin = _MARGIN.match(text, text.index("\n", start) + 1)
    return "" if margin is None else margin[0]


def without_lost_names(
    grammar: Grammar, expansions: Mapping[str, Expansion]
) -> dict[str, Expansion]:
    """The expansions without each fission behind which others put a name that it would hide."""
    return {
        name: one
        for name, one in expansions.items()
        if not (one.body and (seam := grammar.rule(name).seam))
        or seam.hidden.isdisjoint(_put(grammar, expansions, grammar.rule(name).start, seam.end))
    }


def _put(
    grammar: Grammar, expansions: Mapping[str, Expansion], start: int, end: int
) -> frozenset[str]:
    """The names that donors use which are put somewhere in a span."""
    inside = (one for name, one in expansions.items() if start <= grammar.rule(name).start < end)
    donors = (donor for one in inside for donor in (*one.before, one.body) if donor)
    facts = (grammar.facts[donor] for donor in donors if donor in grammar.facts)
    return frozenset(use.name for one in facts for use in one.uses)
