"""Tables of a run for people, as rich renderables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

from gi_cuda.evaluation import Evaluation, Outcome
from gi_cuda.store import Generation, Individual, Phases

_COLUMNS = {
    Outcome.NOT_BUILT: "not\nbuilt",
    Outcome.REFUSED: "re-\nfused",
    Outcome.CRASHED: "crash-\ned",
    Outcome.HUNG: "hung",
    Outcome.WRONG: "wrong",
    Outcome.SLOWER: "slower",
    Outcome.SAME: "same",
    Outcome.UNCERTAIN: "uncer-\ntain",
    Outcome.FASTER: "faster",
}


def _table(title: str) -> Table:
    return Table(
        title=title, title_justify="left", pad_edge=False, box=SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )


def speed(ratio: float | None) -> str:
    """A ratio of times as a speed-up."""
    return "" if not ratio else f"{1 / ratio:.3f}"


def interval(evaluation: Evaluation) -> str:
    """The 95 % interval of a speed-up."""
    if not evaluation.low or not evaluation.high:
        return ""
    return f"[{1 / evaluation.high:.3f}, {1 / evaluation.low:.3f}]"


def built_share(generation: Generation) -> float | None:
    """The share of evaluated individuals that compiled."""
    total = sum(generation.outcomes.values())
    return 1 - generation.outcomes.get(Outcome.NOT_BUILT, 0) / total if total else None


def generations_table(generations: Sequence[Generation], best: Sequence[float | None]) -> Table:
    """Counts of every generation.

    Args:
        generations: in order.
        best: for each the lowest ratio among its faster individuals.
    """
    shown = [o for o in _COLUMNS if any(g.outcomes.get(o) for g in generations)]
    table = _table("generations: children made, duplicates, and what became of the new ones")
    duplicates = ["same\ngeno-\ntype", "same\npheno-\ntype"]
    headings = ["gen", "made", *duplicates, "com-\npiled", *(_COLUMNS[o] for o in shown)]
    for name in [*headings, "best\nspeed-\nup"]:
        table.add_column(name, justify="right", vertical="bottom")
    for generation, ratio in zip(generations, best, strict=True):
        tally = generation.tally
        share = built_share(generation)
        table.add_row(
            f"{generation.number}{'' if generation.finished else '*'}",
            str(tally.created),
            str(tally.genotype_duplicates),
            str(tally.phenotype_duplicates),
            "" if share is None else f"{share:.1%}",
            *(str(generation.outcomes.get(outcome, 0) or "") for outcome in shown),
            speed(ratio),
        )
    return table


def phases_table(total: Phases, individuals: int) -> Table:
    """Where a run's time went."""
    table = _table("time")
    for name in ["phase", "seconds", "share"]:
        table.add_column(name, justify="left" if name == "phase" else "right")
    for name in ["search", "preprocess", "compile", "run", "verify"]:
        seconds = getattr(total, name)
        share = seconds / total.wall if total.wall else 0.0
        table.add_row(name, f"{seconds:.2f}", f"{share:.1%}")
    rate = individuals / total.wall if total.wall else 0.0
    table.add_row("wall", f"{total.wall:.2f}", f"{rate:.1f} individuals/s")
    return table


def population_table(members: Sequence[tuple[Individual, Evaluation | None]]) -> Table:
    """Individuals with what became of them, one a row."""
    table = _table("individuals")
    for name in ["id", "gen", "origin", "parents", "outcome", "speed-up", "95 %", "genotype"]:
        left = name in {"origin", "parents", "outcome", "genotype"}
        table.add_column(name, justify="left" if left else "right", overflow="fold")
    for one, evaluation in members:
        table.add_row(
            str(one.ident),
            str(one.generation),
            one.origin,
            " ".join(map(str, one.parents)),
            str(evaluation.outcome) if evaluation else "pending",
            speed(evaluation.ratio) if evaluation else "",
            interval(evaluation) if evaluation else "",
            one.genotype,
        )
    return table
