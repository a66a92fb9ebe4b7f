"""Splices for loop fusion and loop fission at the seams of loops."""

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
    """Yield the splices that fuse two loops: remove the second header, and join the bodies.

    Args:
        text: text of the source.
        rule: the seam's rule.
        seam: the seam.
        rest: pattern for the rest of a line that may be removed with its code.
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
    """Return the splice that removes a header, with the declaration of the second counter.

    Args:
        text: text of the source.
        header: the splice that removes the header.
        end: end of the header.
        seam: the seam.
    """
    if not seam.instead or header.end == end:
        return header._replace(text=seam.instead)
    margin = _MARGIN.match(text, header.end)
    assert margin is not None, "it may be empty"
    return header._replace(text=margin[0] + seam.instead + newline(text, header.start))


def divided(text: str, rule: Rule, seam: Seam, guard: Sequence[Splice] = ()) -> Iterator[Splice]:
    """Yield the splices that divide a loop: end it at the rule, and repeat its header.

    Args:
        text: text of the source.
        rule: the seam's rule.
        seam: the seam.
        guard: splices of the loop's guard; the second loop gets the same guard.
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
    """Return the white space before a loop's keyword; ``start`` is the loop's or its pragma's."""
    if not text.startswith("#", start):
        return indent(text, start)
    margin = _MARGIN.match(text, text.index("\n", start) + 1)
    return "" if margin is None else margin[0]


def without_lost_names(
    grammar: Grammar, expansions: Mapping[str, Expansion]
) -> dict[str, Expansion]:
    """Return the expansions without fissions that would hide a name needed behind them.

    A fission ends the scope of names declared in the first half of the body. It is left out if
    another expansion inserts a donor that uses one of these names in the second half.
    """
    return {
        name: one
        for name, one in expansions.items()
        if not (one.body and (seam := grammar.rule(name).seam))
        or seam.hidden.isdisjoint(_put(grammar, expansions, grammar.rule(name).start, seam.end))
    }


def _put(
    grammar: Grammar, expansions: Mapping[str, Expansion], start: int, end: int
) -> frozenset[str]:
    """Return the names used by donors that expansions put into a span."""
    inside = (one for name, one in expansions.items() if start <= grammar.rule(name).start < end)
    donors = (donor for one in inside for donor in (*one.before, one.body) if donor)
    facts = (grammar.facts[donor] for donor in donors if donor in grammar.facts)
    return frozenset(use.name for one in facts for use in one.uses)
