"""Comparison of kinds of search, as tables for a terminal and for LaTeX."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.table import Table

from gi_cuda.analyze.stored.searches import Searches
from gi_cuda.report.tables import right, table


def searches_tables(found: Searches) -> Iterator[Table]:
    """Yield a table of each kind of search, and a table of pairwise comparisons."""
    title = "what each way to search found: its winners' speed-ups on the held-out cases"
    rows = table(title, "search", *right("runs", "median", "quartiles"))
    for kind in found.kinds:
        quartiles = f"{kind.low:.3f} to {kind.high:.3f}"
        rows.add_row(kind.name, str(len(kind.found)), f"{kind.median:.3f}", quartiles)
    yield rows
    rows = table(
        "which of two finds more",
        *("search", "beside"),
        *right("A12", "p", "corrected"),
        caption="A12: how often a run of the first finds more than one of the second, ties as half;"
        " p: of the Mann-Whitney test that both find the same; corrected for so many tests (Holm)",
    )
    for pair in found.pairings:
        numbers = (f"{pair.a12:.2f}", f"{pair.p:.3g}", f"{pair.corrected:.3g}")
        rows.add_row(pair.first, pair.second, *numbers)
    yield rows


def latex(found: Searches) -> str:
    """Return the comparison as tables for LaTeX (with booktabs)."""
    kinds = [
        (_tex(one.name), len(one.found), f"{one.median:.3f}", f"{one.low:.3f}--{one.high:.3f}")
        for one in found.kinds
    ]
    tables = [_tabular(("search", "runs", "median speed-up", "quartiles"), kinds)]
    if found.pairings:
        pairings = [
            (
                _tex(one.first),
                _tex(one.second),
                f"{one.a12:.2f}",
                f"{one.p:.3g}",
                f"{one.corrected:.3g}",
            )
            for one in found.pairings
        ]
        headings = ("search", "beside", r"$\hat{A}_{12}$", "$p$", "$p$ (Holm)")
        tables.append(_tabular(headings, pairings))
    return "\n\n".join(tables)


def _tabular(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [" & ".join(map(str, row)) + r" \\" for row in (headings, *rows)]
    columns = "l" + "r" * (len(headings) - 1)
    head = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", lines[0], r"\midrule"]
    return "\n".join([*head, *lines[1:], r"\bottomrule", r"\end{tabular}"])


def _tex(text: str) -> str:
    return re.sub(r"([&%$#_{}])", r"\\\1", text)
