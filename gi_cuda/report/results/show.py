"""Output of ``gi-cuda show``: tables of a run's generations, times and individuals."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table

from gi_cuda.report.tables import right, say, say_whole, table
from gi_cuda.results.evaluation import Evaluation, Outcome
from gi_cuda.results.generation import Generation, Individual, Phases

BY_WHAT_IS_SURE = "the best is the one whose interval has the highest lower end"
"""Explanation, for captions, of the order of individuals."""

_COLUMNS = {
    Outcome.REFUSED: "refused",
    Outcome.CRASHED: "crash",
    Outcome.HUNG: "hung",
    Outcome.WRONG: "wrong",
    Outcome.SLOWER: "slow",
    Outcome.SAME: "same",
    Outcome.UNCERTAIN: "maybe",
    Outcome.FASTER: "fast",
}
"""Column headings by outcome, short enough for 80 columns. "Not built" has no column here; another
column has the share of individuals that compiled."""


def speed(ratio: float | None) -> str:
    """Format a ratio of times as a speed-up."""
    return "" if not ratio else f"{1 / ratio:.3f}"


def interval(evaluation: Evaluation) -> str:
    """Format the 95 % interval of a speed-up; "" if it is unknown or infinite."""
    if not evaluation.low or not evaluation.high or math.isinf(evaluation.high):
        return ""
    return f"[{1 / evaluation.high:.3f}, {1 / evaluation.low:.3f}]"


def built_share(generation: Generation) -> float | None:
    """Return the share of evaluated individuals that compiled; None if none was evaluated."""
    total = sum(generation.outcomes.values())
    return 1 - generation.outcomes.get(Outcome.NOT_BUILT, 0) / total if total else None


def percent(share: float) -> str:
    """Format a share in at most five characters; only 1 itself becomes "100%"."""
    return "100%" if share == 1 else f"{min(share, 0.999):.1%}"


def generations_table(generations: Sequence[Generation], best: Sequence[float | None]) -> Table:
    """Return a table of the counts of every generation.

    Args:
        generations: the generations, in order.
        best: for each generation, the ratio of the best of its faster individuals.
    """
    shown = [o for o in _COLUMNS if any(g.outcomes.get(o) for g in generations)]
    title = (
        "generations: individuals made, duplicates by genotype and by text, the share of the others"
        " that compiled, and their outcomes"
    )
    headings = ["gen", "made", "dup.\ngeno", "dup.\ntext", "comp.", *(_COLUMNS[o] for o in shown)]
    caption = f"best: its speed-up; {BY_WHAT_IS_SURE}"
    rows = table(title, *right(*headings, "best"), caption=caption, between=1)
    for generation, ratio in zip(generations, best, strict=True):
        tally = generation.tally
        share = built_share(generation)
        rows.add_row(
            f"{generation.number}{'' if generation.finished else '*'}",
            str(tally.created),
            str(tally.genotype_duplicates),
            str(tally.phenotype_duplicates),
            "" if share is None else percent(share),
            *(str(generation.outcomes.get(outcome, 0) or "") for outcome in shown),
            speed(ratio),
        )
    return rows


def seconds(total: Phases) -> list[tuple[str, float]]:
    """Return a run's time by phase, as name and seconds; the last item is the total."""
    return [
        ("search", total.search),
        ("  while all else waits", total.idle),
        ("preprocess", total.preprocess),
        ("compile", total.compile),
        ("run", total.run),
        ("verify", total.verify),
        ("wall", total.wall),
    ]


def phases_table(total: Phases, individuals: int) -> Table:
    """Return a table of a run's time by phase."""
    rows = table("time", "phase", *right("seconds", "share"))
    *parts, (wall, in_all) = seconds(total)
    for name, taken in parts:
        share = taken / in_all if in_all else 0.0
        rows.add_row(name, f"{taken:.2f}", f"{share:.1%}")
    rate = individuals / in_all if in_all else 0.0
    rows.add_row(wall, f"{in_all:.2f}", f"{rate:.1f} individuals/s")
    return rows


def print_individuals(
    console: Console,
    members: Sequence[tuple[Individual, Evaluation | None]],
    effective: Callable[[str], str],
) -> None:
    """Print individuals with their outcomes, and each genotype on a separate line.

    Args:
        console: the console.
        members: individuals and their evaluations; None: not evaluated yet.
        effective: removes from a genotype the edits that its other edits override.
    """
    for one, evaluation in members:
        words = [f"individual {one.ident}", f"generation {one.generation}", one.origin]
        if one.parents:
            words.append(f"of {' and '.join(map(str, one.parents))}")
        words.append(str(evaluation.outcome) if evaluation else "pending")
        if evaluation and evaluation.ratio:
            words.append(f"{speed(evaluation.ratio)} {interval(evaluation)}")
        say(console, ", ".join(words))
        genotype = effective(one.genotype) or "(no changes)"
        say_whole(console, f"    {genotype}")
