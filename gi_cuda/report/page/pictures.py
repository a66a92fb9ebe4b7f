"""Figures that other verbs draw, as images in a page."""

from __future__ import annotations

import base64

from markupsafe import Markup
from matplotlib.figure import Figure

from gi_cuda.analyze.whole import WholeRun
from gi_cuda.report.figures import history, interactions
from gi_cuda.report.figures.drawing import svg


def pictures(run: WholeRun) -> dict[str, Markup]:
    """Figures of other verbs as images; "" where there is nothing to draw."""
    several = len(run.history.family) > 1
    drawn = {
        "family": history.family(run.history) if several else None,
        "frequencies": history.frequencies(run.history) if several else None,
        "interactions": interactions.graph(run.interactions) if run.interactions else None,
    }
    return {name: _image(name, figure) if figure else Markup() for name, figure in drawn.items()}


_SHOWN = {
    "family": "The winner and the ancestors that its changes came through",
    "frequencies": "How frequent the winner's changes were, generation by generation",
    "interactions": "How the winner's changes depend on each other",
}


def _image(name: str, figure: Figure) -> Markup:
    data = base64.b64encode(svg(figure, name).encode("utf-8")).decode("ascii")
    return Markup(
        '<div class="wide"><img class="picture" alt="{}" src="data:image/svg+xml;base64,{}"></div>'
    ).format(_SHOWN[name], data)
