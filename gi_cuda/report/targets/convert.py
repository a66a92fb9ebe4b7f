"""Tables of ``convert --explain``: the rules that a grammar makes of each line of source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from gi_cuda.genome import EDIT_KINDS
from gi_cuda.grammar import KeptInclude, Rules, Selection
from gi_cuda.grammar.frontends.cuda.rules.statement_account import EXPECTED, AccountedPart, PartKind
from gi_cuda.report.tables import table as empty_table

_WIDEST, _NARROWEST = 60, 16
"""Largest and smallest width of the column of source lines, characters."""


def lines_table(grammar: Rules, parts: Sequence[AccountedPart], width: int | None) -> Table:
    """Return a table of the parts of the evolved functions: line, rules, or why a part is fixed.

    Args:
        grammar: the grammar.
        parts: parts of the evolved functions.
        width: columns of the terminal; only source lines are cut to fit. None: no limit.
    """
    table = empty_table("lines")
    several = len(grammar.source.names) > 1
    lines = [f"{part.file}:{part.line}" if several else str(part.line) for part in parts]
    longest = max(map(len, ["line", *lines]))
    table.add_column("line", justify="right", no_wrap=True, min_width=longest)
    table.add_column("source", no_wrap=True)
    for name in ("what", _RULE_OR_WHY):
        table.add_column(name, no_wrap=True)
    said = [
        (str(part.kind), "; ".join(filter(None, (_rules(grammar, part), part.reason))))
        for part in parts
    ]
    others = [max(map(len, column)) for column in zip(("", _RULE_OR_WHY), *said, strict=True)]
    taken = longest + sum(others) + _BETWEEN * (1 + len(others)) + _BESIDE
    most = _WIDEST if width is None else max(_NARROWEST, min(_WIDEST, width - taken))
    for line, part, others_of_it in zip(lines, parts, said, strict=True):
        text = " ".join(grammar.source.text[part.start : part.end].split())
        shown = text if len(text) <= most else text[: most - 1] + "…"
        table.add_row(line, Text(shown), *map(Text, others_of_it))
    return table


_RULE_OR_WHY = "rule, or why it is fixed"

_BETWEEN, _BESIDE = 2, 3
"""Characters between two columns, and beside all of them."""


def _rules(grammar: Rules, part: AccountedPart) -> str:
    """Return the rule of a part as a whole, and the numbers of rules within it by type."""
    within = Counter(str(grammar.rule(name).type) for name in part.rules[part.whole :])
    whole = [f"<{part.rules[0]}>"] if part.whole else []
    return " ".join([*whole, *(f"{kind}:{n}" for kind, n in within.items())])


def kept_lines(kept: Sequence[KeptInclude]) -> Iterator[str]:
    """Yield one line for each header that cannot evolve although the target lists it, with why."""
    for one in kept:
        place = "" if one.place is None else f"{one.place}: "
        yield f"{place}{one.header} stays an include: {one.reason}"


def share_table(parts: Sequence[AccountedPart]) -> Table:
    """Return a table of the share of statements, conditions and headers that can change.

    Only parts that some configuration compiles count.
    """
    parts = [part for part in parts if part.compiled]
    table = empty_table("variable parts")
    for name in ("kind", "number", "as a whole", "in part", "fixed", "variable"):
        table.add_column(name, justify="left" if name == "kind" else "right")
    for kind in PartKind:
        found = [part for part in parts if part.kind is kind]
        if found:
            table.add_row(str(kind), *_counts(found))
    table.add_row(
        "all but declarations and jumps",
        *_counts([part for part in parts if part.kind in EXPECTED]),
        style="bold",
    )
    return table


def _counts(parts: Sequence[AccountedPart]) -> Iterator[str]:
    whole = sum(part.whole for part in parts)
    some = sum(part.variable and not part.whole for part in parts)
    yield from map(str, (len(parts), whole, some, len(parts) - whole - some))
    yield f"{variable_share(parts):.1%}"


def variable_share(parts: Sequence[AccountedPart]) -> float:
    """Return the share of parts that can change, as a whole or in part; 1 if there are none."""
    return sum(part.variable for part in parts) / len(parts) if parts else 1.0


def edits_table(grammar: Rules, some: Selection, default: Selection) -> Table:
    """Return a table of rules by type, with the numbers of single edits that they allow.

    Args:
        grammar: the grammar.
        some: rules and donors that exist in some configuration.
        default: rules and donors that exist in the default configuration.
    """
    everywhere, here = single_edits(grammar, some), single_edits(grammar, default)
    numbers = Counter(grammar.rule(name).type for name in some.mutable)
    table = empty_table("rules")
    table.add_column("type")
    for name in ("number", "edits in some configuration", "edits in the default one"):
        table.add_column(name, justify="right")
    for kind, number in numbers.items():
        table.add_row(str(kind), *map(str, (number, everywhere[kind], here[kind])))
    totals = (numbers.total(), everywhere.total(), here.total())
    table.add_row("all", *map(str, totals), style="bold")
    return table


def single_edits_table(grammar: Rules) -> Table:
    """Return a table of rules by type, with the numbers of single edits in any configuration."""
    numbers, edits = Counter(rule.type for rule in grammar.rules), single_edits(grammar, grammar)
    table = empty_table("rules")
    table.add_column("type")
    for name in ("number", "single edits"):
        table.add_column(name, justify="right")
    for kind, number in numbers.items():
        table.add_row(str(kind), str(number), str(edits[kind]))
    table.add_row("all", str(numbers.total()), str(edits.total()), style="bold")
    return table


def single_edits(grammar: Rules, offers: Selection) -> Counter[str]:
    """Count the possible single edits by rule type."""
    found: Counter[str] = Counter()
    for name in offers.mutable:
        found[grammar.rule(name).type] += sum(kind.count(offers, name) for kind in EDIT_KINDS)
    return found
