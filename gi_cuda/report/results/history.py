"""Output of ``gi-cuda explain --history``: tables of a run's history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.text import Text

from gi_cuda.analyze.stored.history import Ancestor, History
from gi_cuda.report.results.show import BY_WHAT_IS_SURE
from gi_cuda.report.tables import print_table, right, table, whole
from gi_cuda.results.speed_up import SpeedUp


def print_history(
    console: Console, history: History, lines: Mapping[str, str] | None = None
) -> None:
    """Print tables of generations, the winner's changes and its ancestors.

    Args:
        console: the console.
        history: the history.
        lines: for PTX, the source lines of each change.
    """
    _print_epochs(console, history)
    if history.survivors:
        _print_survivors(console, history, lines or {})
    if history.family:
        _print_family(console, history)


def _number(value: float | None, digits: int = 3) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def _print_epochs(console: Console, history: History) -> None:
    headings = ["gen", "best\nspeed-up", "sure\nso far", "changes\n(mean)", "of bred\nones"]
    headings += ["by Price's\ntheorem", "same\ngenotype", "same\nphenotype", "not\nbuilt"]
    rows = table(f"generations; {BY_WHAT_IS_SURE}", *right(*headings))
    for one in history.epochs:
        rows.add_row(
            str(one.number),
            _number(one.best),
            _number(one.sure_so_far),
            _number(one.mean_changes, 2),
            _number(one.bred_changes, 2),
            _number(one.predicted_changes, 2),
            f"{one.same_genotype:.1%}",
            f"{one.same_phenotype:.1%}",
            f"{one.not_built:.1%}",
        )
    print_table(console, rows)


def _print_survivors(console: Console, history: History, lines: Mapping[str, str]) -> None:
    title = (
        "the winner's changes: the generation and the individual that each was found in, and how"
        " many of a generation had it, at most and in the last one"
    )
    rows = table(title, *whole("change"), *right("gen", "individual", "most", "last"))
    if lines:
        rows.add_column("source", no_wrap=True)
    for one in history.survivors:
        found = "never" if one.found is None else str(one.found)
        founder = "" if one.founder is None else str(one.founder)
        most = max(one.frequency, default=0.0)
        last = one.frequency[-1] if one.frequency else 0.0
        row = [found, founder, f"{most:.0%}", f"{last:.0%}"]
        if lines:
            row.append(lines.get(one.change, ""))
        rows.add_row(Text(one.change), *row)
    print_table(console, rows)


MOST_ANCESTORS = 40
"""Largest number of rows of the winner's family; beyond it, one per generation is shown."""


def _print_family(console: Console, history: History) -> None:
    family, some = history.family, len(history.family) - 1
    title = "the winner, which has no ancestors"
    if history.ancestors:
        title = f"the winner, and {some} of its {history.ancestors} ancestors: those that its"
        title += " changes came through"
    if len(family) > MOST_ANCESTORS:
        first: dict[int, Ancestor] = {}
        for one in sorted(family, key=lambda one: -one.passed):
            first.setdefault(one.generation, one)
        family = tuple(sorted(first.values(), key=lambda one: -one.ident))
        title += ". Of each generation, the one that passed on most"
    numbers = right("speed-up", "changes", "passed on")
    rows = table(title, *right("individual", "gen"), "made by", "of", *numbers)
    for one in family:
        parents = ", ".join(map(str, one.parents))
        made = (str(one.ident), str(one.generation), one.origin, parents)
        rows.add_row(*made, _number(one.speed_up), str(one.changes), str(one.passed))
    print_table(console, rows)


def print_added(console: Console, steps: Sequence[tuple[str, SpeedUp | None]]) -> None:
    """Print a table of the speed-up as changes are added one by one."""
    title = "speed-up as changes are added in the order in which they were found"
    rows = table(title, *whole("change"), "speed-up with it and those above")
    for change, speed_up in steps:
        rows.add_row(Text(change), str(speed_up) if speed_up else "fails")
    print_table(console, rows)
