"""Print a run's winner, or next steps if there is none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from gi_cuda.analyze.finalists.shortfall import Shortfall
from gi_cuda.analyze.stored.history import words
from gi_cuda.analyze.stored.records import WinnerRecord
from gi_cuda.backends.table import backend_named
from gi_cuda.report.tables import counted, say, say_whole
from gi_cuda.results.evaluation import PROVISIONAL


def print_winner(console: Console, winner: WinnerRecord | None, measured_on: str) -> None:
    """Print the winner's speed-up on the held-out cases, and its changes, one per line.

    Args:
        console: the console.
        winner: the winner; None if there is none.
        measured_on: description of the device.
    """
    if winner is None:
        say(console, "no individual is faster than the reference on the held-out cases")
        return
    validation = winner.validation
    say(
        console,
        f"winner: {winner}, speed-up on held-out cases"
        f" {validation.overall} (95 % interval), measured on {measured_on}",
        "bold",
    )
    for case, speed_up in (validation.cases or {}).items():
        say(console, f"  {case}: {speed_up}")
    if validation.provisional:
        say(console, f"  {PROVISIONAL}")
    if validation.watched:
        say(console, f"  no race: watched on {', '.join(validation.watched)}")
    if winner.found is not None:
        before, changes = winner.found.validation.overall, len(words(winner.found.genotype))
        say(console, f"as the search found it: {counted(changes, 'change')}, {before}")
    say(console, "its changes:")
    print_changes(console, winner.changes or dict.fromkeys(words(winner.genotype), ""))


def print_changes(console: Console, changes: Mapping[str, str]) -> None:
    """Print changes in notation, one per line, each followed by its description."""
    for change, sentence in changes.items():
        say_whole(console, f"  {change}")
        if sentence:
            say(console, f"    {sentence}")


def device_words(backend: str, device: str) -> str:
    """Describe the device of a measurement; the text says if it is a CPU."""
    return device if backend_named(backend).gpu else f"{device}, a CPU ({backend} back end)"


def several_words(names: Sequence[str], seconds: Sequence[float]) -> str:
    """Describe the reference's times on several devices.

    Args:
        names: names of the devices.
        seconds: time of the reference on each device.
    """
    times = ", ".join(
        f"{one * 1e3:.3f} ms on {name}" for name, one in zip(names, seconds, strict=True)
    )
    return f"the reference takes {times}; each variant is timed beside it on one of them"


def print_next_steps(
    console: Console,
    faster: int,
    refusal: str,
    steps: Sequence[str],
    short: Shortfall | None = None,
) -> None:
    """Print the results of a search without a winner, and suggestions.

    Args:
        console: the console.
        faster: number of individuals that were faster on the train cases.
        refusal: reason why the best of them does not hold; "" if it is right but not faster.
        steps: suggestions in words.
        short: the best individual that is right but not faster on the held-out cases.
    """
    if faster and refusal:
        say(console, f"{faster} faster on the train cases, but none of the best is right:")
        say(console, f"  {refusal}")
    elif faster:
        say(console, f"{faster} faster on the train cases, none of the best on the held-out ones")
        if short:
            say(console, f"  {short}")
            say(console, f"  probable cause: {short.cause}")
    else:
        say(console, "none was certainly faster on the train cases either")
    say(console, "what may help:")
    for step in steps:
        say_whole(console, f"  {step}")
