"""Curves: how much of what was planted a search had found after so many evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import quantiles

from matplotlib import pyplot as plt

from benchmarks.search.races import Race

POINTS = 200
"""Points of a curve."""


def draw(races: Mapping[tuple[str, str], Sequence[Race]], budget: int, path: Path) -> None:
    """Draw the median of each search's runs, with their middle half, a panel a landscape."""
    landscapes = list(dict.fromkeys(landscape for _, landscape in races))
    searches = list(dict.fromkeys(name for name, _ in races))
    figure, panels = plt.subplots(
        1, len(landscapes), figsize=(3.2 * len(landscapes), 3), sharey=True, squeeze=False
    )
    at = [budget * point / POINTS for point in range(POINTS + 1)]
    for axes, landscape in zip(panels[0], landscapes, strict=True):
        for name in searches:
            runs = [[_reached(one, spent) for spent in at] for one in races[name, landscape]]
            bands = [
                quantiles(column, n=4, method="inclusive") for column in zip(*runs, strict=True)
            ]
            low, middle, high = zip(*bands, strict=True)
            (line,) = axes.plot(at, middle, label=name)
            axes.fill_between(at, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
        axes.set_title(landscape)
        axes.set_xlabel("evaluations")
    panels[0][0].set_ylabel("share of what is planted")
    panels[0][-1].legend(frameon=False, fontsize="small")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def _reached(one: Race, spent: float) -> float:
    return max(share for count, share in one.curve if count <= spent)
