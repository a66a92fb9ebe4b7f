"""Images of the page: figures of other commands, and figures for browsers without scripts."""

from __future__ import annotations

import base64
from collections.abc import Sequence

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from gi_cuda.analyze.stored.records import GenerationRecord
from gi_cuda.analyze.stored.whole_run import WholeRun
from gi_cuda.report.figures import history, interactions
from gi_cuda.report.figures.compare import race
from gi_cuda.report.figures.drawing import legend, new_figure, svg
from gi_cuda.report.page.payload import colours
from gi_cuda.results.evaluation import Outcome


def pictures(run: WholeRun) -> dict[str, Markup]:
    """Return figures as images, by name; "" if there is nothing to draw."""
    several = len(run.history.family) > 1
    generations = run.record.generations
    drawn = {
        "outcomes": _outcomes(generations) if generations else None,
        "best": history.best(run.history) if generations else None,
        "family": history.family(run.history) if several else None,
        "frequencies": history.frequencies(run.history) if several else None,
        "interactions": interactions.graph(run.interactions) if run.interactions else None,
    }
    return {name: _image(name, figure) if figure else Markup() for name, figure in drawn.items()}


def picture_of_several(runs: Sequence[WholeRun]) -> Markup:
    """Return the figure of the searches' progress as an image; "" if no search has milestones."""
    searches = [one.search for one in runs if one.search.milestones]
    return _image("race", race(searches)) if searches else Markup()


def _outcomes(generations: Sequence[GenerationRecord]) -> Figure:
    """Draw the outcomes of the individuals of each generation as stacked bars."""
    figure, axes = new_figure()
    numbers = np.array([one.generation for one in generations])
    edges = np.append(numbers - 0.5, numbers[-1] + 0.5)
    below = np.zeros(len(generations))
    for outcome, colour in colours().items():
        counts = np.array([one.outcomes.get(Outcome(outcome), 0) for one in generations])
        if counts.any():
            top = below + counts
            axes.stairs(top, edges, baseline=below, fill=True, color=colour, label=outcome)
            below = top
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes.set_xlabel("generation")
    axes.set_ylabel("individuals")
    legend(figure, axes)
    return figure


_SHOWN = {
    "outcomes": "What became of the individuals of each generation",
    "best": "The best speed-up, generation by generation",
    "family": "The winner and the ancestors that its changes came through",
    "frequencies": "How frequent the winner's changes were, generation by generation",
    "interactions": "How the winner's changes depend on each other",
    "race": "How fast each search found what it found",
}


def _image(name: str, figure: Figure) -> Markup:
    data = base64.b64encode(svg(figure, name).encode("utf-8")).decode("ascii")
    return Markup(
        '<div class="wide"><img class="picture" alt="{}" src="data:image/svg+xml;base64,{}"></div>'
    ).format(_SHOWN[name], data)
