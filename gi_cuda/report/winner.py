"""What is said of a run's winner, or of there being none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console

from gi_cuda.analyze.history import words
from gi_cuda.analyze.records import WinnerRecord
from gi_cuda.analyze.shortfall import Shortfall
from gi_cuda.backends.table import backend_named
from gi_cuda.report.tables import counted, say, say_whole
from gi_cuda.results.evaluation import PROVISIONAL


def print_winner(console: Console, winner: WinnerRecord | None, measured_on: str) -> None:
    """The winner's speed-up on held-out cases, and the edits behind it, one a line.

    Args:
        measured_on: the device in words.
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
    """Changes in notation, one a line, with what is said of each under it."""
    for change, sentence in changes.items():
        say_whole(console, f"  {change}")
        if sentence:
            say(console, f"    {sentence}")


def device_words(backend: str, device: str) -> str:
    """What a speed-up was measured on; one of a CPU says nothing of a GPU."""
    return device if backend_named(backend).gpu else f"{device}, a CPU ({backend} back end)"


def several_words(names: Sequence[str], seconds: Sequence[float]) -> str:
    """How the reference's times differ between several devices.

    Args:
        names: of the devices.
        seconds: that it takes on each.
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
    """What a search without a winner had on the train cases, and what may help.

    Args:
        faster: individuals that were faster on the train cases.
        refusal: what speaks against the best of them; "" where nothing but its time.
        steps: what may be tried, each in words.
        short: the best that is right and fell short on the held-out cases.
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
