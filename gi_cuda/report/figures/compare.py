"""Figure of a comparison: the progress of searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from gi_cuda.analyze.stored.milestones import Milestone, Search
from gi_cuda.report.figures.drawing import HEIGHT, LIGHT, SPEED_UP, WIDTH, legend

_LINES = ("-", "--", ":", "-.", (0, (6, 1, 1, 1, 1, 1)))
_COLORS = ("#000000", "#d55e00", "#0072b2", "#009e73", "#cc79a7")
"""Line colours. Line styles vary too, so that kinds of search differ in greyscale as well."""

_BAND = 0.12
"""Opacity of the band between the best and the worst of several seeds."""

_BEYOND = 1.05
"""Factor by which lines are extended beyond their last point."""


def race(searches: Sequence[Search]) -> Figure:
    """Draw the certain speed-up on the train cases against evaluations and against time.

    Each kind of search is a line, the median over its seeds. With several seeds, a band shows the
    range from the worst to the best.
    """
    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    kinds: dict[str, list[Search]] = {}
    for search in searches:
        kinds.setdefault(search.kind, []).append(search)
    _panel(left, kinds, lambda one: one.evaluations)
    _panel(right, kinds, lambda one: one.seconds)
    left.set_xlabel("evaluations (number)")
    right.set_xlabel("wall time (s)")
    left.set_ylabel(f"{SPEED_UP},\ntrain cases")
    left.set_title("Speed-up found (lower end of the best interval)", loc="left")
    legend(figure, left)
    return figure


def _panel(
    axes: Axes, kinds: Mapping[str, Sequence[Search]], spent: Callable[[Milestone], float]
) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.axhline(1.0, color=LIGHT, linewidth=1)
    for number, (kind, seeds) in enumerate(kinds.items()):
        color, line = _COLORS[number % len(_COLORS)], _LINES[(number * 6 // 5) % len(_LINES)]
        x = np.unique([0.0, *(spent(m) for one in seeds for m in one.milestones)])
        # Beyond the end of the shortest search, the median would be over fewer searches.
        x = x[x <= min(spent(one.milestones[-1]) for one in seeds)]
        found = np.array([_best(one, spent, x) for one in seeds])
        # Without this extension, the step of the last generation would have no length.
        x, found = np.append(x, x[-1] * _BEYOND), np.hstack([found, found[:, -1:]])
        label = kind if len(seeds) == 1 else f"{kind}, {len(seeds)} seeds"
        style = {"color": color, "linestyle": line, "linewidth": 1.5}
        axes.step(x, np.median(found, axis=0), where="post", label=label, **style)  # type: ignore[arg-type]
        if len(seeds) > 1:
            low, high = found.min(axis=0), found.max(axis=0)
            axes.fill_between(x, low, high, step="post", color=color, alpha=_BAND, linewidth=0)
            for edge in (low, high):
                axes.step(x, edge, where="post", **{**style, "linewidth": 0.5})  # type: ignore[arg-type]
    axes.set_xlim(left=0)


def _best(search: Search, spent: Callable[[Milestone], float], x: np.ndarray) -> np.ndarray:
    """Return the best speed-up at each amount of effort `x`; 1 before the first milestone."""
    at = np.array([spent(one) for one in search.milestones])
    speed = np.array([1.0, *(one.speed_up or 1.0 for one in search.milestones)])
    return np.asarray(speed[np.searchsorted(at, x, side="right")])
