"""Output of ``gi-cuda minimize``: the changes that stay and the changes that were dropped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Console
from rich.text import Text

from gi_cuda.analyze.finalists.winner import Minimized
from gi_cuda.analyze.minimizing.minimization import DroppedChange, KeptChange, Minimization
from gi_cuda.report.tables import print_table, say, say_whole, table, whole


def print_minimized(
    console: Console,
    name: str,
    minimized: Minimized,
    told: Mapping[str, str],
    *,
    beside: str = "",
) -> None:
    """Print the result in one line, and the fate of each change.

    Args:
        console: the console.
        name: name of the individual.
        minimized: the result.
        told: each change that stays, in words, by notation.
        beside: the code that changes were timed beside; "": the reference.
    """
    result = minimized.minimization
    say(console, verdict(name, minimized), "bold")
    _print_kept(console, result, told)
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
    """Return the number of changes that stay and the speed-up on the held-out cases, in words."""
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


def _print_kept(console: Console, result: Minimization, told: Mapping[str, str]) -> None:
    if not result.kept:
        say(console, "nothing is left: no change pays")
        return
    say(console, "changes that stay:")
    for number, one in enumerate(result.kept, 1):
        say_whole(console, f"{number:3}  {one.change}")
        for line in (told[one.change], *worth_lines(one)):
            say(console, f"     {line}")


def worth_lines(worth: KeptChange) -> Iterator[str]:
    """Yield the gain of a change on top of the others and alone, line by line."""
    gain = f"gain {worth.gain} (95 % interval)" if worth.gain else "fails without it"
    if worth.without:
        gain = f"fails without it: {worth.without}"
    alone = str(worth.alone) if worth.alone else f"fails: {worth.failure}"
    yield f"{gain}; alone: {alone}"
    if worth.stepping_stone:
        others = ", ".join(worth.needed_by) or "others"
        yield f"stepping stone, needed by {others}"


def _print_dropped(console: Console, dropped: tuple[DroppedChange, ...]) -> None:
    if not dropped:
        return
    rows = table("changes that went", *whole("change", "gain"), "why")
    for one in dropped:
        rows.add_row(Text(one.change), str(one.gain or ""), Text(one.reason))
    print_table(console, rows)
