"""Explanations of changes for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console

from gi_cuda.analyze.explanation import Explanation
from gi_cuda.report.tables import print_diff


def print_explanations(console: Console, name: str, explanations: Sequence[Explanation]) -> None:
    """Every change under its number: what it is, what it is worth, where it acts, its diff."""
    console.print(f"{name}: {len(explanations)} changes", style="bold", highlight=False)
    for one in explanations:
        console.print()
        console.print(
            f"{one.number}  {one.change}",
            style="bold",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
        for line in facts(one):
            console.print(f"   {line}", highlight=False, markup=False, soft_wrap=True)
        if one.diff:
            print_diff(console, one.diff)
        else:
            console.print("   changes nothing in the source", highlight=False)


def facts(one: Explanation) -> Iterator[str]:
    """What is known of a change, line by line."""
    yield one.kind
    worth = one.worth
    gain = f"gain {worth.gain} (95 % interval)" if worth.gain else "fails without it"
    if worth.without:
        gain = f"fails without it: {worth.without}"
    alone = str(worth.alone) if worth.alone else f"fails: {worth.failure}"
    yield f"{gain}; alone: {alone}"
    if worth.stepping_stone:
        others = ", ".join(worth.needed_by) or "others"
        yield f"stepping stone, needed by {others}"
    if one.executed is not None:
        on = [case for case, reached in one.executed.items() if reached]
        off = [case for case, reached in one.executed.items() if not reached]
        yield f"its place is executed on: {', '.join(on) or 'no case at all'}" + (
            f"; not on: {', '.join(off)}" if on and off else ""
        )
    for name, (before, after) in one.resources.items():
        yield f"{name}: {before} becomes {after}"
