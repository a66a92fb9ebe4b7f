"""Output of ``gi-cuda explain``: the effects of each change of a winner, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console

from gi_cuda.analyze.explain.explanation import Explanation
from gi_cuda.analyze.explain.quotes import Quote
from gi_cuda.report.results.minimize import worth_lines
from gi_cuda.report.tables import counted, print_diff, say, say_whole


def print_explanations(
    console: Console, name: str, explanations: Sequence[Explanation], note: str = ""
) -> None:
    """Print every change with its number, kind, gain, place and diff.

    Args:
        console: the console.
        name: name of the winner.
        explanations: the changes.
        note: a remark about all changes.
    """
    say(console, f"{name}: {counted(len(explanations), 'change')}", "bold")
    if note:
        say(console, note)
    for one in explanations:
        console.print()
        say_whole(console, f"{one.number}  {one.change}", "bold")
        for line in facts(one):
            say(console, f"   {line}")
        for quote in one.quotes:
            for line in quoted(quote):
                say_whole(console, f"   {line}")
        if one.diff:
            print_diff(console, one.diff)
        else:
            say(console, "   changes nothing")


def quoted(one: Quote) -> Iterator[str]:
    """Yield an instruction and the source lines that it was compiled from, line by line."""
    yield f"{one.role} {one.place}: {one.instruction}"
    yield f"  from {one.origin}" if one.origin.places else f"  {one.origin.reason}"
    shown = ""
    for excerpt in one.excerpts:
        if excerpt.place.file != shown and len({e.place.file for e in one.excerpts}) > 1:
            yield f"  {excerpt.place.file}:"
        shown = excerpt.place.file
        for number, text in excerpt.lines:
            mark = ">" if number == excerpt.place.line else " "
            yield f"  {mark} {number:5} | {text.expandtabs(4)}".rstrip()


def facts(one: Explanation) -> Iterator[str]:
    """Yield the known facts about a change, line by line."""
    yield one.kind
    yield from worth_lines(one.worth)
    if one.partners is not None:
        yield f"depends on: {', '.join(one.partners)}" if one.partners else "independent"
    if one.executed is not None:
        on = [case for case, reached in one.executed.items() if reached]
        off = [case for case, reached in one.executed.items() if not reached]
        yield f"its place is executed on: {', '.join(on) or 'no case at all'}" + (
            f"; not on: {', '.join(off)}" if on and off else ""
        )
    if one.true is not None and one.executed is not None:
        never = [case for case, reached in one.executed.items() if reached and not one.true[case]]
        if len(never) == sum(one.executed.values()) > 0:
            yield "the condition that it changes is never true on any case: they do not test it"
        elif never:
            yield f"the condition that it changes is never true on: {', '.join(never)}"
    for name, (before, after) in one.resources.items():
        yield f"{name}: {before} becomes {after}"
