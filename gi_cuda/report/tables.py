"""Tables of a run for people."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from gi_cuda.results.evaluation import Evaluation, Outcome
from gi_cuda.results.generation import Generation, Individual, Phases

_COLUMNS = {
    Outcome.NOT_BUILT: "not\nbuilt",
    Outcome.REFUSED: "re-\nfused",
    Outcome.CRASHED: "cra-\nshed",
    Outcome.HUNG: "hung",
    Outcome.WRONG: "wrong",
    Outcome.SLOWER: "slow-\ner",
    Outcome.SAME: "same",
    Outcome.UNCERTAIN: "un-\ncer-\ntain",
    Outcome.FASTER: "fast-\ner",
}


def table(title: str) -> Table:
    """An empty table in the style of all of them."""
    return Table(
        title=title, title_justify="left", pad_edge=False, box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )


_WIDEST = 100_000
"""Columns that a table takes at most where no terminal limits it."""


BY_WHAT_IS_SURE = "the best is the one whose interval has the highest lower end"
"""How individuals are ranked, wherever they are."""


def print_table(console: Console, rows: Table) -> None:
    """Print a table with nothing left out of it.

    In a pipe or file each row is one line. On a terminal that is too narrow for what must not be
    broken, lines go beyond its width, and the terminal breaks them.
    """
    unlimited = console.options.update(max_width=_WIDEST)
    for column in rows.columns:
        if column.no_wrap:
            cells = (column.header, *column.cells)
            column.min_width = max(Measurement.get(console, unlimited, c).maximum for c in cells)
    needed = Measurement.get(console, unlimited, rows)
    before = console.width
    console.width = max(before, needed.minimum) if console.is_terminal else needed.maximum
    try:
        console.print(rows)
    finally:
        console.width = before


def change_column(rows: Table, heading: str) -> None:
    """Add a column of changes, each of which stays whole: people copy them."""
    rows.add_column(heading, no_wrap=True)


def counted(number: int, noun: str) -> str:
    """So many of something, in words: the noun takes an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def speed(ratio: float | None) -> str:
    """A ratio of times as a speed-up."""
    return "" if not ratio else f"{1 / ratio:.3f}"


def interval(evaluation: Evaluation) -> str:
    """The 95 % interval of a speed-up."""
    if not evaluation.low or not evaluation.high or math.isinf(evaluation.high):
        return ""
    return f"[{1 / evaluation.high:.3f}, {1 / evaluation.low:.3f}]"


def built_share(generation: Generation) -> float | None:
    """The share of evaluated individuals that compiled."""
    total = sum(generation.outcomes.values())
    return 1 - generation.outcomes.get(Outcome.NOT_BUILT, 0) / total if total else None


def percent(share: float) -> str:
    """A share as at most five characters; only what is whole is called so."""
    return "100%" if share == 1 else f"{min(share, 0.999):.1%}"


def generations_table(generations: Sequence[Generation], best: Sequence[float | None]) -> Table:
    """Counts of every generation.

    Args:
        generations: in order.
        best: for each the ratio of the best among its faster individuals.
    """
    shown = [o for o in _COLUMNS if any(g.outcomes.get(o) for g in generations)]
    rows = table("generations: children made, duplicates, and what became of the new ones")
    rows.caption = BY_WHAT_IS_SURE
    rows.caption_justify = "left"
    duplicates = ["same\nge-\nno-\ntype", "same\nphe-\nno-\ntype"]
    headings = ["gen", "made", *duplicates, "com-\npiled", *(_COLUMNS[o] for o in shown)]
    for name in [*headings, "its best\nspeed-\nup"]:
        width = max(map(len, name.split("\n")))
        rows.add_column(name, justify="right", vertical="bottom", min_width=width)
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


def phases_table(total: Phases, individuals: int) -> Table:
    """Where a run's time went."""
    rows = table("time")
    for name in ["phase", "seconds", "share"]:
        rows.add_column(name, justify="left" if name == "phase" else "right")
    shown = {
        "search": total.search,
        "  while all else waits": total.idle,
        "preprocess": total.preprocess,
        "compile": total.compile,
        "run": total.run,
        "verify": total.verify,
    }
    for name, seconds in shown.items():
        share = seconds / total.wall if total.wall else 0.0
        rows.add_row(name, f"{seconds:.2f}", f"{share:.1%}")
    rate = individuals / total.wall if total.wall else 0.0
    rows.add_row("wall", f"{total.wall:.2f}", f"{rate:.1f} individuals/s")
    return rows


def print_individuals(
    console: Console, members: Sequence[tuple[Individual, Evaluation | None]]
) -> None:
    """Individuals with what became of them, each with its genotype on lines of its own."""
    for one, evaluation in members:
        words = [f"individual {one.ident}", f"generation {one.generation}", one.origin]
        if one.parents:
            words.append(f"of {' and '.join(map(str, one.parents))}")
        words.append(str(evaluation.outcome) if evaluation else "pending")
        if evaluation and evaluation.ratio:
            words.append(f"{speed(evaluation.ratio)} {interval(evaluation)}")
        console.print(", ".join(words), highlight=False, soft_wrap=True)
        genotype = one.genotype or "(no changes)"
        console.print(f"    {genotype}", highlight=False, markup=False, soft_wrap=True)


_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def print_diff(console: Console, diff: str) -> None:
    """A unified diff, coloured on a terminal, its lines never broken."""
    for line in diff.splitlines():
        heading = line.startswith(("diff ", "--- ", "+++ "))
        style = "bold" if heading else _STYLES.get(line[:1])
        console.print(Text(line), style=style, soft_wrap=True)
