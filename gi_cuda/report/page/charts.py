"""The page's figures, as options for Apache ECharts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gi_cuda.analyze.stored.records import GenerationRecord
from gi_cuda.analyze.stored.searches import Curve
from gi_cuda.report.page.payload import colours

DARK, MIDDLE, LIGHT = "#222222", "#6b6b6b", "#d9d9d9"

_TEXT = {"fontFamily": "system-ui, sans-serif", "fontSize": 12, "color": DARK}
_BASE: dict[str, Any] = {
    "animation": False,
    "textStyle": _TEXT,
    "aria": {"enabled": True},
    "grid": {"left": 56, "right": 18, "top": 62, "bottom": 48},
    "legend": {"top": 0, "left": 0, "type": "scroll", "textStyle": {"color": DARK}},
    "tooltip": {"trigger": "axis", "confine": True},
}


def outcomes(generations: Sequence[GenerationRecord]) -> dict[str, Any]:
    """Return a chart of outcomes: stacked bars with the individuals of each generation."""
    shown = [
        (outcome, colour)
        for outcome, colour in colours().items()
        if any(one.outcomes.get(outcome) for one in generations)  # type: ignore[call-overload]
    ]
    return _BASE | {
        "xAxis": _axis("generation", [one.generation for one in generations]),
        "yAxis": _axis("individuals") | {"minInterval": 1},
        "series": [
            {
                "name": str(outcome),
                "type": "bar",
                "stack": "all",
                "barCategoryGap": "10%",
                "barMaxWidth": 60,
                "itemStyle": {"color": colour},
                "data": [one.outcomes.get(outcome, 0) for one in generations],  # type: ignore[call-overload]
            }
            for outcome, colour in shown
        ],
    }


def best(generations: Sequence[GenerationRecord]) -> dict[str, Any]:
    """Return a chart of the certain speed-up so far, and the best of each generation."""
    return _BASE | {
        "xAxis": _axis("generation", [one.generation for one in generations]),
        "yAxis": _axis("speed-up, train cases", scale=True),
        "series": [
            {
                "name": "surely reached so far",
                "type": "line",
                "step": "end",
                "symbol": "none" if len(generations) > 1 else "circle",
                "lineStyle": {"width": 2.5},
                "itemStyle": {"color": DARK},
                "data": _rounded(one.sure for one in generations),
            },
            {
                "name": "best of the generation",
                "type": "line",
                "lineStyle": {"width": 0},
                "symbol": "circle",
                "symbolSize": 6,
                "itemStyle": {"color": "#0072b2"},
                "data": _rounded(one.best for one in generations),
            },
        ],
    }


def _axis(name: str, values: Sequence[int] | None = None, *, scale: bool = False) -> dict[str, Any]:
    axis: dict[str, Any] = {
        "name": name,
        "nameLocation": "middle",
        "nameGap": 30 if values is not None else 40,
        "nameTextStyle": {"color": MIDDLE},
        "axisLabel": {"color": MIDDLE},
        "splitLine": {"lineStyle": {"color": LIGHT}},
        "scale": scale,
    }
    if values is not None:
        axis |= {"type": "category", "data": list(values), "splitLine": {"show": False}}
    return axis


def _rounded(values: Iterable[float | None]) -> list[float | None]:
    return [None if one is None else round(one, 6) for one in values]


BANDS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444", "#882255")


def curves(kinds: Mapping[str, Curve]) -> dict[str, Any]:
    """Return a chart of the certain speed-up by kind of search: median and quartiles over runs."""
    series = []
    for number, (name, curve) in enumerate(kinds.items()):
        colour = BANDS[number % len(BANDS)]
        spread = [high - low for low, high in zip(curve.low, curve.high, strict=True)]
        shared = {"type": "line", "step": "end", "symbol": "none", "itemStyle": {"color": colour}}
        # A band is a filled area, stacked on an invisible line.
        hidden = {
            "lineStyle": {"width": 0},
            "stack": name,
            "silent": True,
            "tooltip": {"show": False},
        }
        series += [
            shared | hidden | {"data": _points(curve.evaluations, curve.low)},
            shared
            | hidden
            | {
                "data": _points(curve.evaluations, spread),
                "areaStyle": {"color": colour, "opacity": 0.18},
            },
            shared
            | {
                "name": name,
                "data": _points(curve.evaluations, curve.middle),
                "lineStyle": {"width": 2.5},
            },
        ]
    return _BASE | {
        "legend": _BASE["legend"] | {"data": list(kinds), "type": "plain", "orient": "vertical"},
        "grid": _BASE["grid"] | {"top": 30 + 24 * len(kinds)},
        "xAxis": _axis("evaluations")
        | {"nameGap": 30, "type": "value", "max": "dataMax", "splitLine": {"show": False}},
        "yAxis": _axis("speed-up, train cases", scale=True),
        "series": series,
    }


def _points(across: Sequence[int], up: Sequence[float]) -> list[list[float]]:
    points = [[x, round(y, 6)] for x, y in zip(across, up, strict=True)]
    return [*points, [math.ceil(1.03 * across[-1]), points[-1][1]]]  # makes the last step visible
