"""How many random variants compile, and what is wrong with the others."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from gi_cuda.evaluate.sampling import Trials
from gi_cuda.report.tables import folded, print_table, right, say, table, whole
from gi_cuda.subject import Subject

_MOST_ERRORS = 12
_MOST_SHOWN = 10
"""Variants that fail, shown one by one."""


def print_trials(console: Console, subject: Subject, trials: Trials) -> None:
    """How many compile, by type and in all, and the first that do not."""
    print_table(console, types_table(trials))
    if trials.failed:
        print_table(console, errors_table(trials))
        print_failures(subject, trials)
    say(console, summary(trials))


def print_failures(subject: Subject, trials: Trials) -> None:
    """The first variants that do not compile, each with the compiler's message and as a diff."""
    shown = list(trials.failed.items())[:_MOST_SHOWN]
    for at, message in shown:
        genotype = trials.tried[at]
        print(f"# does not compile: {genotype}")
        print(f"# {message.strip().splitlines()[0] if message.strip() else 'no message'}")
        print(subject.diff(genotype))
    if len(trials.failed) > len(shown):
        print(f"# and {len(trials.failed) - len(shown)} more that do not compile")


def types_table(trials: Trials) -> Table:
    """How many variants compile, by the type of the rules that they edit."""
    rows = table("by rule type", "type", *right("variants", "failed", "compile"), between=3)
    for kind, (tried, failed) in trials.by_type().items():
        rows.add_row(str(kind), str(tried), str(failed), f"{1 - failed / tried:.1%}")
    return rows


def errors_table(trials: Trials) -> Table:
    """What the compiler said most often, names left out."""
    columns = (*folded("message"), *right("variants"), *whole("for example"))
    rows = table("by error", *columns, between=3)
    for message, genotypes in list(trials.by_error().items())[:_MOST_ERRORS]:
        rows.add_row(message, str(len(genotypes)), str(genotypes[0]))
    return rows


def summary(trials: Trials) -> str:
    """The whole in one line."""
    compiled = len(trials.tried) - len(trials.failed)
    return (
        f"{compiled} of {len(trials.tried)} variants compile ({trials.rate:.2%});"
        f" {trials.drawn - len(trials.tried)} of {trials.drawn} drawn were the original or"
        " another's twin"
    )
