"""Figure of the dependency graph of a winner's changes. Needs matplotlib."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from gi_cuda.analyze.interactions.algorithm import Group, Interactions
from gi_cuda.report.figures.drawing import DARK, LIGHT, MIDDLE, short

ROW = 0.42
"""Height of a change, inches."""

WIDTH = 8.0
_LEFT, _BOX = 0.3, 4.6
"""Left edge and width of the boxes, inches; arcs are to the right of the boxes."""


def graph(result: Interactions) -> Figure:
    """Draw a box for each change, frames around groups, and arcs for dependencies.

    An arrow leads from a change to a change that it needs to work, dashed if it needs one of
    several. A line without arrow joins changes that gain more (solid) or less (dotted) together
    than apart, and shows the factor.
    """
    rows = sum(len(group.changes) + 1 for group in result.groups)
    height = ROW * (rows + 2)
    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(height, 0)
    axes.axis("off")
    axes.text(_LEFT, ROW, "Dependencies of changes; gains on the train cases", fontsize=10)
    at, places = 2 * ROW, dict[str, float]()
    for group in result.groups:
        at = _draw_group(axes, group, at, places)
    _draw_needs(axes, result, places)
    _draw_pairs(axes, result, places)
    return figure


def _draw_group(axes: Axes, group: Group, top: float, places: dict[str, float]) -> float:
    """Draw a group's boxes, store their positions in `places`, and return the next group's top."""
    height = ROW * len(group.changes)
    frame = FancyBboxPatch(
        (_LEFT - 0.1, top - 0.05), _BOX + 0.2, height, boxstyle="round,pad=0.02,rounding_size=0.08",
        facecolor="none", edgecolor=LIGHT,
    )  # fmt: skip
    axes.add_patch(frame)
    for number, change in enumerate(group.changes):
        middle = top + ROW * (number + 0.5) - 0.05
        places[change] = middle
        box = FancyBboxPatch(
            (_LEFT, middle - 0.13), _BOX, 0.26, boxstyle="round,pad=0.01", facecolor="white",
            edgecolor=DARK, linewidth=0.8,
        )  # fmt: skip
        axes.add_patch(box)
        axes.text(_LEFT + 0.08, middle, short(change), va="center", family="monospace", fontsize=8)
    gain = f"gain {group.gain}" if group.gain else "fails without"
    if group.share is not None:
        gain += f", {group.share:.0%}"
    axes.text(_LEFT, top + height + 0.03, gain, va="top", fontsize=7, color=MIDDLE)
    return top + height + ROW


def _arc(axes: Axes, start: float, end: float, **style: object) -> float:
    """Draw an arc to the right of the boxes and return the x position of its middle."""
    right = _LEFT + _BOX
    patch = FancyArrowPatch(
        (right, start), (right, end), connectionstyle="arc3,rad=-0.6" if end > start
        else "arc3,rad=0.6", mutation_scale=9, color=DARK, **style,  # type: ignore[arg-type]
    )  # fmt: skip
    axes.add_patch(patch)
    return right + 0.3 * abs(end - start)


def _draw_needs(axes: Axes, result: Interactions, places: dict[str, float]) -> None:
    for need in result.needs:
        for other in need.always:
            _arc(axes, places[need.change], places[other], arrowstyle="-|>", linewidth=1)
        for other in need.either:
            start, end = places[need.change], places[other]
            _arc(axes, start, end, arrowstyle="-|>", linewidth=1, linestyle="--")


def _draw_pairs(axes: Axes, result: Interactions, places: dict[str, float]) -> None:
    for pair in result.pairs:
        start, end = places[pair.first[0]], places[pair.second[0]]
        line = "-" if pair.super_additive else ":"
        right = _arc(axes, start, end, arrowstyle="-", linewidth=1.6, linestyle=line)
        sign = "together more" if pair.super_additive else "together less"
        text = f"{sign}: × {pair.factor}"
        axes.text(right + 0.08, (start + end) / 2, text, va="center", fontsize=7)
