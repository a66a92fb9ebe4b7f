"""Output of ``gi-cuda judge``: a verdict as one page of text."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gi_cuda.analyze.judge.records import Judged, Outcome, OutputError, Reason, Speed
from gi_cuda.report.tables import counted, say_whole
from gi_cuda.results.status import Status

_STYLES = {
    Status.FASTER: "bold green",
    Status.SLOWER: "bold yellow",
    Status.SAME: "bold",
    Status.INCONCLUSIVE: "bold yellow",
    Status.INCORRECT: "bold red",
    Status.INVALID: "bold red",
    Status.UNVERIFIED: "bold yellow",
}
_MEANINGS = {
    Status.FASTER: "right wherever it was looked at, and faster",
    Status.SLOWER: "right wherever it was looked at, and slower",
    Status.SAME: "right wherever it was looked at, and as fast",
    Status.INCONCLUSIVE: "no answer",
    Status.INCORRECT: "it does not do what the original does",
    Status.INVALID: "it cannot take the place of the original",
    Status.UNVERIFIED: "right wherever it was looked at, but not all could be looked at",
}
_SHOWN = 3
"""Largest number of reasons, and of unconfirmed values, that the page shows."""


def print_judged(console: Console, judged: Judged) -> None:
    """Print one page: the verdict, its reasons, the checks."""
    heading = Text(judged.status.value.upper(), _STYLES[judged.status])
    heading.append(f"  {_MEANINGS[judged.status]}", "default")
    console.print(heading)
    if not console.is_terminal:
        for name, said in _lines(judged):
            say_whole(console, f"  {name:10}  {said}")
        return
    rows = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    rows.add_column(style="dim", no_wrap=True)
    rows.add_column(overflow="fold")
    for name, said in _lines(judged):
        rows.add_row(Text(f"  {name}"), Text(said))
    console.print(rows)


def _lines(judged: Judged) -> Iterator[tuple[str, str]]:
    """Yield the lines of the page: heading and text."""
    yield "rewrite", f"{judged.rewritten} ({judged.kind}) in the place of {judged.original}"
    for at, one in enumerate(judged.reasons[:_SHOWN]):
        yield "reason" * (at == 0), _reason(one)
    if len(judged.reasons) > _SHOWN:
        yield "", f"and {counted(len(judged.reasons) - _SHOWN, 'more reason')}: --json has all"
    if judged.speed is not None:
        yield from _speed(judged.speed)
    for at, launch in enumerate(judged.launches):
        yield "launch" * (at == 0), launch
    for at, error in enumerate(judged.errors):
        yield "error" * (at == 0), _error(error)
    yield "checks", _checks(judged)
    for check in judged.checks:
        if check.outcome is Outcome.SKIPPED and not check.said.startswith("it failed before"):
            yield "", f"not made: {check.name} ({check.said})"
    if judged.guessed:
        yield "assumed", f"{counted(len(judged.guessed), 'value')} of the target, unconfirmed:"
        for line in judged.guessed[:_SHOWN]:
            yield "", line
    machine = judged.machine
    where = f"{machine.device}, {machine.backend} back end"
    yield "machine", where + (f", {machine.isolation}" if machine.isolation else "")


def _reason(one: Reason) -> str:
    place = f"{one.where}: " if one.where else ""
    return f"{place}{one.said} [{one.code}]"


def _speed(speed: Speed) -> Iterator[tuple[str, str]]:
    bar = "" if speed.bar is None else f"; within ± {speed.bar:.0%} is the same"
    yield "speed-up", f"{speed.overall} on {counted(len(speed.cases), 'case')}{bar}"
    yield "", f"train {speed.train}, held-out {speed.held_out}"
    yield "", f"a copy of the original: {speed.noise}"


def _error(one: OutputError) -> str:
    if not one.largest:
        return f"{one.output}: none, its values are those of the original"
    share = "" if one.of_tolerance is None else f", {one.of_tolerance:.1%} of what is allowed"
    exact = ""
    if one.of_float64 is not None:
        far = f"{one.of_float64:.2g}; the original {one.original_of_float64:.2g}"
        exact = f"; from the answers in double precision {far}"
    return f"{one.output}: at most {one.largest:.2g}{share} (case {one.case}){exact}"


def _checks(judged: Judged) -> str:
    counts = {outcome: sum(one.outcome is outcome for one in judged.checks) for outcome in Outcome}
    return ", ".join(f"{number} {outcome.value}" for outcome, number in counts.items() if number)
