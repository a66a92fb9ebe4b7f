"""The figure of the progress of searches."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes

from gi_cuda.analyze.stored.milestones import Milestone, Search
from gi_cuda.report.figures.compare import race


def search(seed: int, *speeds: float | None, kind: str = "barracuda") -> Search:
    """A hundred evaluations and two seconds a generation."""
    found = (Milestone(100 * n, 2.0 * n, speed) for n, speed in enumerate(speeds, 1))
    return Search(kind, seed, tuple(found))


def line(axes: Axes, label: str) -> tuple[list[float], list[float]]:
    (found,) = [one for one in axes.get_lines() if one.get_label() == label]
    return list(np.asarray(found.get_xdata())), list(np.asarray(found.get_ydata()))


def test_one_line_a_kind_the_median_over_its_seeds() -> None:
    seeds = [search(1, None, 1.2, 1.4), search(2, 1.1, 1.1, 1.3), search(3, None, None, 1.5)]
    figure = race([*seeds, search(1, 1.05, kind="random")])
    left, right = figure.axes
    assert line(left, "barracuda, 3 seeds") == (
        [0, 100, 200, 300, pytest.approx(315)],
        [1, 1, 1.1, 1.4, 1.4],
    )
    assert line(left, "random") == ([0, 100, pytest.approx(105)], [1, 1.05, 1.05])
    assert line(right, "barracuda, 3 seeds") == (
        pytest.approx([0, 2, 4, 6, 6.3]),
        [1, 1, 1.1, 1.4, 1.4],
    )
    assert "evaluations (number)" in left.get_xlabel()
    assert "(s)" in right.get_xlabel()


@pytest.mark.parametrize("generations", [1, 50])
def test_little_is_drawn_beyond_the_end_of_the_shortest_search(generations: int) -> None:
    long, short = search(1, *[1.5] * (generations + 5)), search(2, *[1.2] * generations)
    left, _ = race([long, short]).axes
    x, _ = line(left, "barracuda, 2 seeds")
    assert 100 * generations < max(x) <= 110 * generations  # so that the last step is seen


def test_a_search_that_found_nothing_stays_at_the_reference() -> None:
    left, _ = race([search(1, None, None)]).axes
    assert line(left, "barracuda")[1] == [1, 1, 1, 1]
