"""Write the experiment's page: which searches ran, and their results."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.levels.plan import KINDS, Cell
from gi_cuda.analyze.finalists.winner import Winner, stored_winner
from gi_cuda.analyze.stored.milestones import Milestone, Search, milestones
from gi_cuda.report.figures.compare import race
from gi_cuda.report.figures.drawing import save
from gi_cuda.results.evaluation import Outcome
from gi_cuda.runs.stored import DATABASE
from gi_cuda.store import Store

FIGURES = "figures"
"""Folder of the figures, beside the page."""


@dataclass(frozen=True, slots=True)
class Found:
    """Results of a search, from its database.

    Attributes:
        cell: the search.
        population, generations: as planned.
        evaluations: number made.
        seconds: wall time, without baseline and validation.
        outcomes: number of evaluations by outcome.
        milestones: progress after each generation; the last one has the best speed-up that is
            certain on the train cases.
        winner: its winner, validated on the held-out cases; None if none was confirmed.
        device, versions: the device and the versions of software.
    """

    cell: Cell
    population: int
    generations: int
    evaluations: int
    seconds: float
    outcomes: dict[Outcome, int]
    milestones: tuple[Milestone, ...]
    winner: Winner | None
    device: str
    versions: dict[str, str]

    @property
    def best(self) -> float:
        """Return the best speed-up that is certain on the train cases; the reference's is 1."""
        return self.milestones[-1].speed_up or 1.0


def read(cell: Cell) -> Found:
    """Read a finished search."""
    with Store(cell.folder / DATABASE) as store:
        evaluations = store.evaluations().values()
        outcomes = dict.fromkeys(Outcome, 0)
        for one in evaluations:
            outcomes[one.outcome] += 1
        reached = tuple(milestones(store))
        settings = store.get("plan")["settings"]
        return Found(
            cell,
            settings["population"],
            settings["generations"],
            len(evaluations),
            reached[-1].seconds,
            outcomes,
            reached,
            stored_winner(store),
            store.get("device"),
            store.get("versions"),
        )


def page(planned: Sequence[Cell], folder: Path) -> str:
    """Return the page, in Markdown.

    Args:
        planned: all searches; those that are not finished are named.
        folder: the experiment's folder.
    """
    done = [read(cell) for cell in planned if cell.done]
    targets = list(dict.fromkeys(cell.target for cell in planned))
    lines = [
        "# Source against PTX and LLVM-IR",
        "",
        "Written by `python -m benchmarks.levels --page` from the runs' databases and from"
        " one `gi-cuda compare` a target; what made them stands with each target.",
        "",
        *_where(done),
        "",
        "All searches of a target evaluate as many individuals, or (`--time`) take as long."
        " *Source line* has the nine rule"
        " types of the BarraCUDA paper, *source full* all of them; both vary parameters as well."
        " *PTX* varies the instructions that nvcc makes of the default configuration, *LLVM* the"
        " instructions of clang's IR before it is optimised, and no"
        " parameters, so what a parameter gains is out of its reach. *Random* searches breed"
        " nothing: every individual is a random mutant. *PTX after source full* spends as many"
        " evaluations again, on the PTX of the winner that *source full* found with the same seed.",
        "",
    ]
    for target in targets:
        mine = [one for one in done if one.cell.target == target]
        lines += [f"## `{target}`", "", *_command(folder, target, mine), "", *_searches(mine), ""]
        lines += [f"![speed-up against evaluations and time]({FIGURES}/levels-{target}.png)", ""]
        lines += [*_winners(mine), ""]
        if (folder / f"{target}.csv").exists():
            lines += _side_by_side(folder / f"{target}.csv", mine)
    missing = [cell for cell in planned if not cell.done]
    lines += ["## What was not run", ""]
    lines += [f"- {one.target}, {one.kind}, seed {one.seed}" for one in missing] or [
        "All of the above was run. Targets, seeds and evaluations beyond it were not."
    ]
    return "\n".join(lines) + "\n"


def draw(planned: Sequence[Cell], folder: Path) -> None:
    """Draw the progress of the searches of each target, for the page."""
    done = [read(cell) for cell in planned if cell.done]
    for target in dict.fromkeys(one.cell.target for one in done):
        searches = [
            Search(one.cell.kind, one.cell.seed, one.milestones)
            for one in done
            if one.cell.target == target
        ]
        save(race(searches), folder / FIGURES, f"levels-{target}")


def _where(done: Sequence[Found]) -> Iterator[str]:
    for device in dict.fromkeys(one.device for one in done):
        versions = next(one.versions for one in done if one.device == device)
        said = ", ".join(f"{name} {version}" for name, version in versions.items())
        yield f"{device}; {said}."


def _command(folder: Path, target: str, mine: Sequence[Found]) -> Iterator[str]:
    kinds = " ".join(f'"{kind}"' for kind in dict.fromkeys(one.cell.kind for one in mine))
    seeds = max((one.cell.seed for one in mine), default=0)
    for population, generations in dict.fromkeys((one.population, one.generations) for one in mine):
        yield (
            f"`python -m benchmarks.levels {folder} --targets {target} --kinds {kinds} --seeds"
            f" {seeds} --population {population} --generations {generations}`"
        )


def _searches(mine: Sequence[Found]) -> Iterator[str]:
    """Yield a row for each kind: medians over its seeds."""
    yield "Medians over seeds; *best* is what its interval makes sure, on the train cases."
    yield ""
    head = ["search", "seeds", "evaluated", "a second", "right", "faster", "crashed, hung", "best"]
    yield from _head([*head, "lowest to highest"])
    for kind in KINDS:
        group = [one for one in mine if one.cell.kind == kind]
        if not group:
            continue
        best = [one.best for one in group]
        yield _row(
            kind,
            len(group),
            f"{_median(one.evaluations for one in group):.0f}",
            f"{_median(one.evaluations / one.seconds for one in group):.0f}",
            f"{_median(map(_right, group)):.1%}",
            f"{_median(_share(one, Outcome.FASTER) for one in group):.1%}",
            f"{_median(_share(one, Outcome.CRASHED, Outcome.HUNG) for one in group):.1%}",
            f"{_median(best):.3f}",
            f"{min(best):.3f} to {max(best):.3f}",
        )


def _right(one: Found) -> float:
    return _share(one, Outcome.SLOWER, Outcome.SAME, Outcome.UNCERTAIN, Outcome.FASTER)


def _share(one: Found, *outcomes: Outcome) -> float:
    return sum(one.outcomes[outcome] for outcome in outcomes) / one.evaluations


def _winners(mine: Sequence[Found]) -> Iterator[str]:
    """Yield a row for each search: its winner as validated at the end of the search."""
    yield "The winner of each search, on the held-out cases, as `evolve` validated it at its end:"
    yield ""
    yield from _head(["search", "seed", "held-out, 95 % interval", "winner"])
    for kind in KINDS:
        for one in mine:
            if one.cell.kind != kind:
                continue
            found, genotype = "nothing holds", ""
            if one.winner is not None:
                speed_up = one.winner.validation.overall
                found, genotype = str(speed_up), f"`{one.winner.genotype}`"
            yield _row(kind, one.cell.seed, found, genotype)


def _side_by_side(file: Path, mine: Sequence[Found]) -> Iterator[str]:
    """Yield a row for each winner, as ``gi-cuda compare`` measured it beside the others."""
    yield "Winners side by side, in one session of `gi-cuda compare`, with 95 % intervals:"
    yield ""
    yield from _head(["search", "seed", "verdict", "train", "held-out", "changes", "registers"])
    of = {str(one.cell.folder): one.cell for one in mine}
    with file.open(encoding="utf-8", newline="") as rows:
        for row in csv.DictReader(rows):
            cell = of[row["contestant"]]
            speeds = [_interval(row, "train"), _interval(row, "held_out")]
            rest = row["changes"], row.get("registers", "")
            yield _row(cell.kind, cell.seed, row["verdict"], *speeds, *rest)
    yield ""


def _interval(row: dict[str, str], name: str) -> str:
    if not row[name]:
        return ""
    value, low, high = (float(row[f"{name}{end}"]) for end in ("", "_low", "_high"))
    return f"{value:.3f} [{low:.3f}, {high:.3f}]"


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)


def _head(names: Sequence[str]) -> Iterator[str]:
    yield _row(*names)
    yield "|" + "---|" * len(names)


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"
