"""What minimizing a winner found, as tables."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from gi_cuda.analyze.minimization import DroppedChange, KeptChange, Minimization
from gi_cuda.analyze.winner import Minimized
from gi_cuda.report.tables import print_table, right, say, table, whole


def print_minimized(console: Console, name: str, minimized: Minimized, *, beside: str = "") -> None:
    """The verdict in one line, and what became of each change.

    Args:
        name: of the individual.
        beside: what its changes were timed beside, if that is not the reference.
    """
    result = minimized.minimization
    say(console, verdict(name, minimized), "bold")
    _print_kept(console, result)
    _print_dropped(console, result.dropped)
    if minimized.loses:
        say(
            console,
            "what went pays on the held-out cases, by which minimizing only tells right from wrong:"
            " a smaller --threshold keeps more of it",
            "yellow",
        )
    if result.loss and result.confirmed and any(one.gain for one in result.dropped):
        say(
            console,
            f"the winner is {result.loss} times as fast as what is left on the train cases,"
            f" {result.confirmed} times on {minimized.confirmed_on}",
        )
    say(
        console,
        f"on the train cases {result.before} before, {result.speed_up} after"
        f"{f', over {beside}' if beside else ''};"
        f" {result.variants} variants in {result.batches} batches",
    )


def verdict(name: str, minimized: Minimized) -> str:
    """What is left of an individual, and what it is worth on the held-out cases."""
    result, validation = minimized.minimization, minimized.validation
    total = len(result.kept) + len(result.dropped)
    before = minimized.before
    worth = (
        f"speed-up on held-out cases {validation.overall} (95 % interval)"
        f"{f', {before.overall} before' if before and before.overall else ''}"
        if validation.correct
        else f"fails on the held-out cases: {validation.message}"
    )
    return f"{name}: {len(result.kept)} of {total} changes stay; {worth}"


def _print_kept(console: Console, result: Minimization) -> None:
    if not result.kept:
        say(console, "nothing is left: no change pays")
        return
    rows = table("changes that stay", *right(""), *whole("change", "gain", "alone"), "note")
    for number, one in enumerate(result.kept, 1):
        gain = str(one.gain) if one.gain else "fails without it"
        alone = str(one.alone) if one.alone else "fails"
        rows.add_row(str(number), Text(one.change), gain, alone, Text(_note(one)))
    print_table(console, rows)


def _note(kept: KeptChange) -> str:
    words = []
    if kept.stepping_stone:
        others = ", ".join(kept.needed_by) or "others"
        words.append(f"stepping stone, needed by {others}")
    if kept.without:
        words.append(f"without it: {kept.without}")
    if kept.failure:
        words.append(f"alone: {kept.failure}")
    return "; ".join(words)


def _print_dropped(console: Console, dropped: tuple[DroppedChange, ...]) -> None:
    if not dropped:
        return
    rows = table("changes that went", *whole("change", "gain"), "why")
    for one in dropped:
        rows.add_row(Text(one.change), str(one.gain or ""), Text(one.reason))
    print_table(console, rows)
