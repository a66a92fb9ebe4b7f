"""Figures of a run's history (Langdon et al., GECCO 2015, figures 1 and 4 to 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from gi_cuda.analyze.stored.history import Ancestor, History
from gi_cuda.report.figures.drawing import (
    DARK,
    HEIGHT,
    LIGHT,
    MIDDLE,
    SPEED_UP,
    WIDTH,
    legend,
    new_figure,
    short,
)
from gi_cuda.results.speed_up import SpeedUp

MOST_NAMED = 40
"""Largest family whose members are labelled with their numbers."""

MOST_DRAWN = 2000
"""Largest number of points that an SVG file holds as vectors; more are rasterized."""

CHANGES = "changes of an individual (number)"
GENERATION = "generation"


def _generations(axes: Axes, history: History) -> np.ndarray:
    """Set up an x axis of generations and return their numbers."""
    numbers = np.array([one.number for one in history.epochs])
    axes.set_xlabel(GENERATION)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlim(numbers.min() - 0.5, numbers.max() + 0.5)
    return numbers


def _values(values: Sequence[float | None]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values])


def _draw(axes: Axes, x: np.ndarray, values: Sequence[float | None], **style: object) -> None:
    axes.plot(x, _values(values), markersize=4, **style)  # type: ignore[arg-type]


def best(history: History) -> Figure:
    """Draw the best speed-up of every generation, and the speed-up that is certain so far."""
    figure, axes = new_figure()
    x = _generations(axes, history)
    so_far = _values([one.sure_so_far for one in history.epochs])
    edges = np.append(x - 0.5, x[-1] + 0.5)
    axes.stairs(so_far, edges, baseline=None, color=MIDDLE, label="surely reached so far")
    of_each = [one.best for one in history.epochs]
    _draw(axes, x, of_each, color=DARK, marker="o", linestyle="", label="best of the generation")
    axes.axhline(1.0, color=LIGHT, linewidth=1)
    axes.set_ylabel(f"{SPEED_UP},\ntrain cases")
    axes.set_title("Best speed-up", loc="left")
    legend(figure, axes)
    return figure


def sizes(history: History) -> Figure:
    """Draw the sizes of genotypes and their prediction by Price's theorem (figure 6)."""
    figure, axes = new_figure()
    x, epochs = _generations(axes, history), history.epochs
    everyone = [one.mean_changes for one in epochs]
    _draw(axes, x, everyone, color=LIGHT, marker="s", linestyle="-", label="all individuals")
    bred = [one.bred_changes for one in epochs]
    _draw(axes, x, bred, color=DARK, marker="o", linestyle="-", label="those with parents")
    predicted = [one.predicted_changes for one in epochs]
    style = {"color": MIDDLE, "marker": "x", "linestyle": "--"}
    _draw(axes, x, predicted, label="predicted for those by Price's theorem", **style)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("changes of an individual (mean number)")
    axes.set_title("Size of genotypes", loc="left")
    legend(figure, axes)
    return figure


def losses(history: History) -> Figure:
    """Draw the shares of duplicates and compile failures in every generation (figure 4)."""
    figure, axes = new_figure()
    x, epochs = _generations(axes, history), history.epochs
    same, another = [one.same_genotype for one in epochs], [one.same_phenotype for one in epochs]
    for values, label, color, marker, style in (
        (same, "same genotype as before, of those made", DARK, "o", "-"),
        (another, "same phenotype as before, of those made", MIDDLE, "s", "--"),
        ([one.not_built for one in epochs], "does not compile, of those compiled", LIGHT, "^", "-"),
    ):
        _draw(axes, x, values, color=color, marker=marker, linestyle=style, label=label)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_ylim(bottom=0)
    axes.set_ylabel("share of individuals (%)")
    axes.set_title("Duplicates and compile failures", loc="left")
    legend(figure, axes)
    return figure


def speed_against_size(history: History) -> Figure:
    """Draw speed-up against number of changes for every timed individual (figure 1)."""
    figure, axes = new_figure()
    for faster, style in (
        (False, {"facecolors": "none", "edgecolors": MIDDLE, "label": "not certainly faster"}),
        (True, {"color": DARK, "label": "certainly faster"}),
    ):
        some = [one for one in history.points if one.faster is faster]
        x, y = [one.changes for one in some], [one.speed_up for one in some]
        drawn = axes.scatter(x, y, s=14, linewidths=0.7, **style)  # type: ignore[arg-type]
        drawn.set_rasterized(len(some) > MOST_DRAWN)
    axes.axhline(1.0, color=LIGHT, linewidth=1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlabel(CHANGES)
    axes.set_ylabel(f"{SPEED_UP},\ntrain cases")
    axes.set_title("Speed-up against number of changes", loc="left")
    legend(figure, axes)
    return figure


def frequencies(history: History) -> Figure:
    """Draw the frequency of each of the winner's changes by generation."""
    survivors = history.survivors
    figure, axes = new_figure(height=max(2.6, 1.4 + 0.28 * len(survivors)), width=8.0)
    table = np.array([one.frequency for one in survivors])
    numbers = [one.number for one in history.epochs]
    extent = (numbers[0] - 0.5, numbers[-1] + 0.5, len(survivors) - 0.5, -0.5)
    image = axes.imshow(
        table, cmap="Greys", vmin=0, vmax=1, aspect="auto", extent=extent, interpolation="nearest"
    )
    founders = [(one.found, at) for at, one in enumerate(survivors) if one.found is not None]
    x, y = [found for found, _ in founders], [at for _, at in founders]
    axes.scatter(x, y, marker="D", s=18, color="white", edgecolors="black", linewidths=0.8)
    axes.set_yticks(range(len(survivors)), [short(one.change) for one in survivors])
    axes.tick_params(axis="y", labelsize=7)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlabel(f"{GENERATION} (diamond: where it was found)")
    share = min(1.0, 3.0 / figure.get_figheight())
    bar = figure.colorbar(image, ax=axes, format=PercentFormatter(1.0), shrink=share)
    bar.set_label("individuals with it (%)")
    axes.set_title("The winner's changes in the population", loc="left")
    return figure


MARKERS = {
    "random": "s",
    "sweep": "D",
    "mutation": "o",
    "removal": "v",
    "crossover": "^",
    "triangulation": "p",
    "union": "*",
    "repair": "P",
    "search": "s",
}
"""Marker of individuals, by the operator that made them."""


def family(history: History) -> Figure:
    """Draw the winner and the ancestors that passed on its changes, with lines to parents."""
    figure, axes = new_figure()
    place = _places(history.family)
    for one in history.family:
        for parent in one.parents:
            if parent in place:
                (x, y), (there_x, there_y) = place[one.ident], place[parent]
                axes.plot([x, there_x], [y, there_y], color=LIGHT, linewidth=1, zorder=1)
    for origin, marker in MARKERS.items():
        points = [place[one.ident] for one in history.family if one.origin == origin]
        if points:
            across, up = zip(*points, strict=True)
            axes.scatter(across, up, marker=marker, s=26, color=MIDDLE, zorder=2, label=origin)
    for one in history.family[:1]:
        style = {"facecolors": "none", "edgecolors": DARK, "linewidths": 1.5, "label": "winner"}
        axes.scatter(*place[one.ident], s=110, zorder=3, **style)  # type: ignore[arg-type]
    if len(history.family) <= MOST_NAMED:
        for one in history.family:
            axes.annotate(
                str(one.ident),
                place[one.ident],
                xytext=(0, 8),
                textcoords="offset points",
                ha="center",
                fontsize=7,
            )
    _generations(axes, history)
    axes.set_xlim(-0.5, max((one.generation for one in history.family), default=0) + 0.5)
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    some = len(history.family) - 1
    title = f"Whom the winner's changes came through: {some} of {history.ancestors} ancestors"
    axes.set_title(title, loc="left")
    legend(figure, axes)
    return figure


def _places(family: Sequence[Ancestor]) -> dict[int, tuple[float, float]]:
    """Return the position of each member of a family.

    Parents are in the order of their children, so that few lines cross.
    """
    heights: dict[int, list[float]] = {}
    place: dict[int, tuple[float, float]] = {}
    for generation, those in groupby(family, key=lambda one: one.generation):
        row = sorted(those, key=lambda one: float(np.mean(heights.get(one.ident, [0.5]))))
        for at, one in enumerate(row):
            place[one.ident] = (float(generation), (at + 1) / (len(row) + 1))
            for parent in one.parents:
                heights.setdefault(parent, []).append(place[one.ident][1])
    return place


def added(steps: Sequence[tuple[str, SpeedUp | None]]) -> Figure:
    """Draw the speed-up as changes are added one by one (figure 5).

    Args:
        steps: each change in the order of adding, and the speed-up with it and all before it; None
            if that fails.
    """
    figure, axes = new_figure(height=HEIGHT + 1.6, width=max(WIDTH, 1.5 + 0.4 * len(steps)))
    x = np.arange(len(steps) + 1)
    values = _values([1.0, *(one.value if one else None for _, one in steps)])
    low = _values([1.0, *(one.low if one else None for _, one in steps)])
    high = _values([1.0, *(one.high if one else None for _, one in steps)])
    axes.errorbar(
        x,
        values,
        yerr=[values - low, high - values],
        color=DARK,
        marker="o",
        markersize=4,
        capsize=3,
        linewidth=1,
        label="speed-up, 95 % interval",
    )
    failing = [at for at, (_, one) in enumerate(steps, 1) if one is None]
    if failing:
        axes.scatter(failing, [1.0] * len(failing), marker="x", color=DARK, label="fails")
    axes.axhline(1.0, color=LIGHT, linewidth=1)
    axes.set_xticks(x, ["(original)", *(short(change) for change, _ in steps)])
    axes.tick_params(axis="x", labelrotation=60, labelsize=7)
    for label in axes.get_xticklabels():
        label.set_horizontalalignment("right")
        label.set_rotation_mode("anchor")
    axes.set_xlabel("change added, in the order in which the search found them")
    axes.set_ylabel(f"{SPEED_UP},\ntrain cases")
    axes.set_title("Gain as changes are added", loc="left")
    legend(figure, axes)
    return figure


OF_ALL: dict[str, Callable[[History], Figure]] = {
    "best": best,
    "sizes": sizes,
    "losses": losses,
    "speed-against-size": speed_against_size,
}
"""Figures for all runs, by file name."""

OF_WINNERS: dict[str, Callable[[History], Figure]] = {"frequencies": frequencies, "family": family}
"""Figures for runs with a winner, by file name."""
