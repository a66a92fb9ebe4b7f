"""Output of ``gi-cuda compare``: tables, JSON and comma-separated values."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gi_cuda.analyze.compare.comparison import Compared, Comparison
from gi_cuda.analyze.stored.milestones import Milestone, Search
from gi_cuda.report.as_json import ComparedContestant, ComparedContestants, Told
from gi_cuda.report.results.searches import searches_tables
from gi_cuda.report.tables import folded, print_table, right, say, table, whole

LEVELS = (1.05, 1.1, 1.2, 1.3, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Speed-ups for which the effort is reported until a search had reached them with certainty."""


MOST_SHOWN = 4
"""Number of levels in a table, the highest ones, so that it fits on a terminal; a file has all."""


def print_comparison(console: Console, comparison: Comparison) -> None:
    """Print speed-ups of all contestants, the effort of their searches, and reasons of failures."""
    print_table(console, results_table(comparison))
    print_table(console, resources_table(comparison))
    if searches := _searches(comparison):
        levels = [level for level in LEVELS if any(_reached(one, level) for _, one in searches)]
        levels = levels[-MOST_SHOWN:]
        print_table(console, searches_table(searches, levels))
    if comparison.searches:
        for rows in searches_tables(comparison.searches):
            print_table(console, rows)
    for note in comparison.notes:
        say(console, note)
    for result in comparison.results:
        if result.failure:
            said = f"{result.contestant.name}: {result.failure}"
            say(console, said)
        for found in result.findings:
            if not found.fails:
                say(console, f"{result.contestant.name}: {found.ruling}: {found.said}")


def results_table(comparison: Comparison) -> Table:
    """Return a table with one row per contestant, and the noise as its caption."""
    rows = table(
        "speed-up over the reference, with 95 % intervals",
        *folded("contestant"),
        *("kind", "verdict", "train cases", "held-out cases"),
        caption=f"copy of the reference, all cases: {comparison.noise};"
        f" what lies within {comparison.floor:.1%} is the same",
    )
    for one in comparison.results:
        speeds = [str(one.train), str(one.held_out)] if one.train else ["", ""]
        kind = one.contestant.kind
        rows.add_row(Text(one.contestant.name), kind, one.outcome, *speeds)
    return rows


def resources_table(comparison: Comparison) -> Table:
    """Return a table of each contestant's number of changes and the resources of its kernels."""
    shown = [
        name for name in _TAKEN if any(_taken(one.resources, name) for one in comparison.results)
    ]
    title = "what they change and take" if shown else "what they change"
    rows = table(title, *folded("contestant"), *right("changes", *shown))
    for one in comparison.results:
        changes = one.contestant.changes
        rows.add_row(
            Text(one.contestant.name),
            "" if changes is None else str(changes),
            *(str(_taken(one.resources, name)) for name in shown),
        )
    return rows


_TAKEN = ("registers", "local", "shared", "code", "instructions")


def _taken(resources: Mapping[str, int], name: str) -> int | str:
    """Return the amount of one resource; "" if it is unknown."""
    if name != "instructions":
        return resources.get(name, "")
    counted = [number for kind, number in resources.items() if kind.startswith("instructions, ")]
    return sum(counted) or ""


def searches_table(searches: Sequence[tuple[str, Search]], levels: Sequence[float]) -> Table:
    """Return a table of each search's effort, in total and until it had reached each level."""
    numbers = right("in all", *(f"{level:g}" for level in levels))
    title = "evaluations, and seconds, until a speed-up was sure on the train cases"
    rows = table(title, *whole("run"), "search", *numbers)
    for name, search in searches:
        found = [search.milestones[-1], *(_reached(search, level) for level in levels)]
        cells = [f"{one.evaluations}\n{one.seconds:.0f} s" if one else "-" for one in found]
        rows.add_row(Text(name), f"{search.kind}, seed {search.seed}", *cells)
    return rows


def _searches(comparison: Comparison) -> list[tuple[str, Search]]:
    contestants = [one.contestant for one in comparison.results]
    return [(one.name, one.search) for one in contestants if one.search and one.search.milestones]


def _reached(search: Search, level: float) -> Milestone | None:
    found = (one for one in search.milestones if one.speed_up and one.speed_up >= level)
    return next(found, None)


def record(comparison: Comparison) -> ComparedContestants:
    """Make the record of a comparison for ``--json``."""
    return ComparedContestants(
        comparison.noise,
        comparison.floor,
        tuple(
            ComparedContestant(
                one.contestant.name,
                one.contestant.kind,
                one.contestant.what,
                one.contestant.changes,
                one.failure,
                one.verdict,
                one.train,
                one.held_out,
                one.resources,
                one.contestant.search,
                tuple(Told(it.code, str(it.ruling), it.said) for it in one.findings),
            )
            for one in comparison.results
        ),
        comparison.searches,
        comparison.notes,
    )


def comma_separated(comparison: Comparison) -> str:
    """Return all numbers as CSV, one row per contestant: RFC 4180, but with LF as line end."""
    levels = [f"{what}_to_{level:g}" for level in LEVELS for what in ("evaluations", "seconds")]
    headings = ["contestant", "kind", "what", "verdict", "failure"]
    headings += [f"{cases}{end}" for cases in ("train", "held_out") for end in ("", *_ENDS)]
    headings += ["changes", "search", "seed", "evaluations", "seconds", *levels, "instructions"]
    headings += dict.fromkeys(name for one in comparison.results for name in one.resources)
    out = io.StringIO()
    writer = csv.DictWriter(out, headings, lineterminator="\n")
    writer.writeheader()
    writer.writerows(dict(_cells(one)) for one in comparison.results)
    return out.getvalue()


_ENDS = ("_low", "_high")


def _cells(one: Compared) -> Iterator[tuple[str, object]]:
    """Yield the known values of a contestant, each with its column heading."""
    contestant, search = one.contestant, one.contestant.search
    yield from (("contestant", contestant.name), ("kind", contestant.kind))
    yield from (("what", contestant.what), ("verdict", one.outcome), ("failure", one.failure))
    for cases, found in (("train", one.train), ("held_out", one.held_out)):
        if found is not None:
            for end, number in zip(("", *_ENDS), (found.value, found.low, found.high), strict=True):
                yield f"{cases}{end}", f"{number:.6f}"
    yield "changes", contestant.changes
    yield "instructions", _taken(one.resources, "instructions")
    yield from one.resources.items()
    if search is None or not search.milestones:
        return
    yield from (("search", search.kind), ("seed", search.seed))
    yield from _spent("", search.milestones[-1])
    for level in LEVELS:
        if reached := _reached(search, level):
            yield from _spent(f"_to_{level:g}", reached)


def _spent(end: str, milestone: Milestone) -> Iterator[tuple[str, object]]:
    yield f"evaluations{end}", milestone.evaluations
    yield f"seconds{end}", f"{milestone.seconds:.3f}"
