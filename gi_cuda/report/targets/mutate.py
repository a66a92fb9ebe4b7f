"""Output of ``gi-cuda mutate``: the share of random variants that compile, and compile errors."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from gi_cuda.evaluate.sampling import Trials
from gi_cuda.report.tables import folded, print_table, right, say, table, whole
from gi_cuda.subject import Subject

_MOST_ERRORS = 12
_MOST_SHOWN = 10
"""Largest number of failing variants that are shown one by one."""


def print_trials(console: Console, subject: Subject, trials: Trials) -> None:
    """Print the share of variants that compile, by type and in total, and the first failures."""
    print_table(console, types_table(trials))
    if trials.failed:
        print_table(console, errors_table(trials))
        print_failures(subject, trials)
    say(console, summary(trials))


def print_failures(subject: Subject, trials: Trials) -> None:
    """Print the first variants that do not compile, with the compiler's message and a diff."""
    shown = list(trials.failed.items())[:_MOST_SHOWN]
    for at, message in shown:
        genotype = trials.tried[at]
        print(f"# does not compile: {genotype}")
        print(f"# {message.strip().splitlines()[0] if message.strip() else 'no message'}")
        print(subject.diff(genotype))
    if len(trials.failed) > len(shown):
        print(f"# and {len(trials.failed) - len(shown)} more that do not compile")


def types_table(trials: Trials) -> Table:
    """Return a table of the share of variants that compile, by type of the edited rules."""
    rows = table("by rule type", "type", *right("variants", "failed", "compile"), between=3)
    for kind, (tried, failed) in trials.by_type().items():
        rows.add_row(str(kind), str(tried), str(failed), f"{1 - failed / tried:.1%}")
    return rows


def errors_table(trials: Trials) -> Table:
    """Return a table of the most frequent compiler messages, without names."""
    columns = (*folded("message"), *right("variants"), *whole("for example"))
    rows = table("by error", *columns, between=3)
    for message, genotypes in list(trials.by_error().items())[:_MOST_ERRORS]:
        rows.add_row(message, str(len(genotypes)), str(genotypes[0]))
    return rows


def summary(trials: Trials) -> str:
    """Summarize the trials in one line."""
    compiled = len(trials.tried) - len(trials.failed)
    return (
        f"{compiled} of {len(trials.tried)} variants compile ({trials.rate:.2%});"
        f" {trials.drawn - len(trials.tried)} of {trials.drawn} drawn were the original or"
        " another's twin"
    )
