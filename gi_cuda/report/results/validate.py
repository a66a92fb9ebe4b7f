"""Output of ``gi-cuda validate``: the verdict in one line, and a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gi_cuda.analyze.validate.acceptance import Acceptance, TriedCandidate
from gi_cuda.analyze.validate.portability import Measured
from gi_cuda.report.tables import folded, print_table, say, table


def print_acceptance(console: Console, result: Acceptance, unwatched: str) -> None:
    """Print the verdict and a table of the candidates.

    Args:
        console: the console.
        result: results of the candidates.
        unwatched: reason why no sanitizer ran; "" if sanitizers ran.
    """
    accepted = result.accepted
    say(console, verdict(result), "bold green" if accepted else "bold red")
    print_table(console, acceptance_table(result))
    for one in result.tried:
        for tool, findings in one.findings.items():
            for finding in findings:
                say(console, f"{one.name}: {tool}: {finding}")
    if result.failed:
        say(
            console,
            f"{result.failed} candidates failed on these cases before, so intervals are wider, and"
            " what seemed faster was measured twice",
        )
    if unwatched:
        say(console, f"no sanitizers: {unwatched}")
    if result.application and not result.application.wrong:
        for line in result.application.lines():
            say(console, line)


def verdict(result: Acceptance) -> str:
    """Return the verdict in one line: "HOLDS" or "FAILS", with reasons."""
    one = result.accepted
    if one is None:
        reasons = "; ".join(f"{tried.name} {_fault(result, tried)}" for tried in result.tried)
        return f"FAILS: {reasons}"
    application = "; right in the application" if result.application else ""
    races = f"; no race on {', '.join(one.validation.watched)}" if one.validation.watched else ""
    watched = f"nothing found by {', '.join(result.watched)}" if result.watched else "not watched"
    return (
        f"HOLDS: {one.name}, speed-up on held-out cases {one.validation.overall}"
        f" (95 % interval); noise {result.noise}; {watched}{races}{application}"
    )


def _fault(result: Acceptance, one: TriedCandidate) -> str:
    if not one.validation.correct:
        return "is not right"
    if not result.faster(one):
        return "is not faster beyond the noise"
    if result.application and one is result.clean:
        return f"is found fault with by the application: {result.application.fault}"
    if one.clean:
        return "was not looked at any further (--individual or --genotype asks for it alone)"
    return "is found fault with by " + ", ".join(
        name for name, found in one.findings.items() if found
    )


def acceptance_table(result: Acceptance) -> Table:
    """Return a table with a row for each candidate and for the copy of the reference."""
    cases = next((list(one.validation.cases) for one in result.tried if one.validation.cases), [])
    cases = cases if len(cases) > 1 else []  # one is all of them
    columns = folded("candidate", "all cases", *cases, "sanitizers")
    rows = table("speed-up on the held-out cases, with 95 % intervals", *columns)
    for one in result.tried:
        validation = one.validation
        if not validation.correct:
            rows.add_row(one.name, Text(validation.message), *("" for _ in cases), "")
            continue
        per_case = (str((validation.cases or {}).get(case, "")) for case in cases)
        rows.add_row(one.name, str(validation.overall), *per_case, _watched(one))
    rows.add_row("copy of the reference", str(result.noise), *("" for _ in cases), "")
    return rows


def _watched(one: TriedCandidate) -> str:
    if not one.findings:
        return "not run"
    number = sum(map(len, one.findings.values()))
    return f"{number} findings" if number else "clean"


def portability_table(everywhere: Sequence[Measured]) -> Table:
    """Return a table with a row for each machine."""
    rows = table("the same genotype on several machines: speed-up, with 95 % intervals")
    cases = list(dict.fromkeys(case for one in everywhere for case in one.validation.cases or {}))
    for name in ("device", "back end", "all cases", *cases, "copy of the\nreference"):
        rows.add_column(name, overflow="fold", vertical="bottom")
    for one in everywhere:
        validation = one.validation
        found = validation.cases or {}
        overall = str(validation.overall) if validation.correct else validation.message
        speed_ups = (str(found.get(case, "")) for case in cases)
        rows.add_row(Text(one.device), one.backend, Text(overall), *speed_ups, str(one.noise))
    return rows
