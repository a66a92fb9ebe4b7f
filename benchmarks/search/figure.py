"""Draw curves: the share of the planted improvement that a search had found, by evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from matplotlib import pyplot as plt

from benchmarks.search.races import Race

POINTS = 200
"""Points of a curve."""


def draw(races: Mapping[tuple[str, str], Sequence[Race]], budget: int, path: Path) -> None:
    """Draw the mean of each search's runs, with a panel for each landscape.

    For an improvement that is found at once, this is the share of the runs that found it.
    """
    landscapes = list(dict.fromkeys(landscape for _, landscape in races))
    searches = list(dict.fromkeys(name for name, _ in races))
    figure, panels = plt.subplots(
        1, len(landscapes), figsize=(3.2 * len(landscapes), 3), sharey=True, squeeze=False
    )
    at = [budget * point / POINTS for point in range(POINTS + 1)]
    for axes, landscape in zip(panels[0], landscapes, strict=True):
        for name in searches:
            runs = [[_reached(one, spent) for spent in at] for one in races[name, landscape]]
            axes.plot(at, [fmean(column) for column in zip(*runs, strict=True)], label=name)
        axes.set_ylim(-0.02, 1.02)
        axes.set_title(landscape)
        axes.set_xlabel("evaluations")
    panels[0][0].set_ylabel("share of what is planted")
    panels[0][-1].legend(loc="center right", frameon=False, fontsize="small")
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def _reached(one: Race, spent: float) -> float:
    return max(share for count, share in one.curve if count <= spent)
