"""Models of counters: trees, training, and their files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gi_cuda.errors import UserError
from gi_cuda.tune.counter_model import CounterModel, read_model
from gi_cuda.tune.grid import Grid
from gi_cuda.tune.trees import DEPTH, grow, predict

GRID = Grid(("block", "layout", "fixed"), ((32, 64, 128), ("row", "column"), (7,)))
ROWS = [
    (GRID.configuration(point), {"l2": 10.0 * sum(point), "l2 use": 0.5, "unknown": 1.0})
    for point in GRID.each()
]


def test_a_tree_fits_what_it_was_grown_on() -> None:
    rng = np.random.default_rng(1)
    features = rng.integers(0, 5, (200, 3)).astype(float)
    values = features[:, 0] * (features[:, 2] > 2) + features[:, 1]
    assert predict(grow(features, values), features) == pytest.approx(values)
    (rough,) = np.unique(predict(grow(features, values, 0), features))
    assert rough == pytest.approx(values.mean())


def test_rows_that_are_alike_get_their_mean() -> None:
    assert grow(np.array([[1.0], [1.0]]), np.array([2.0, 4.0])) == 3.0


def test_a_tree_has_a_largest_depth() -> None:
    tree: Any = grow(np.arange(1 << 14, dtype=float)[:, None] ** 3, np.arange(1 << 14) ** 5.0)

    def depth(tree: Any) -> int:
        return 1 + max(depth(tree[2]), depth(tree[3])) if isinstance(tree, tuple) else 0

    assert depth(tree) == DEPTH


def test_a_model_predicts_and_survives_its_file(tmp_path: Path) -> None:
    model = CounterModel.trained(ROWS, "here")
    assert model.parameters == {"block": [], "layout": ["row", "column"]}
    file = tmp_path / "model.json"
    file.write_text(json.dumps(model.as_json()))
    again = read_model(file)
    assert (again.parameters, again.trees) == (model.parameters, model.trees)
    points = GRID.points
    assert again.predicted(GRID, points)["l2"] == pytest.approx(10.0 * points.sum(1))
    again.check(GRID)


@pytest.mark.parametrize(
    "rows", [[], ROWS[:1], [(ROWS[0][0], {"l2": 1.0}), (ROWS[1][0], {"l1": 1.0})]]
)
def test_what_cannot_be_trained_on_is_refused(rows: Any) -> None:
    with pytest.raises(UserError, match=r"file\.json: a model needs two different configurations"):
        CounterModel.trained(rows, "file.json")


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        (Grid(("block", "tile"), ((32, 64), (1, 2))), "parameters block, layout; here vary block"),
        (Grid(("block",), ((32, 64),)), "parameters block, layout; here vary block"),
        (Grid(("block", "layout"), ((32,), ("row", "tiled"))), "does not know layout = 'tiled'"),
    ],
)
def test_a_grid_of_other_parameters_is_refused(grid: Grid, said: str) -> None:
    with pytest.raises(UserError, match=said):
        CounterModel.trained(ROWS, "here").check(grid)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("counter_model",), 2, "no model of counters, or one of another version"),
        (("parameters",), {}, r"parameters: a list"),
        (("parameters", 0), {"name": 3}, r"parameters\[0\].name: a text"),
        (("counters",), {"other": 1.0}, r"counters: there is no unit"),
        (("counters", "l2"), "x", r"counters.l2: a number"),
        (("counters", "l2"), [0, 1.0, 2.0], r"counters.l2: a decision is"),
        (("counters", "l2"), [2, 1.0, 2.0, 3.0], r"counters.l2: a decision is"),
        (("counters", "l2"), [0, 1.0, 2.0, [0, "x", 1.0, 1.0]], r"counters.l2\[3\]\[1\]: a number"),
    ],
)
def test_mistakes_in_a_file_are_reported_with_their_place(
    path: tuple[Any, ...], value: object, said: str, tmp_path: Path
) -> None:
    content: Any = json.loads(json.dumps(CounterModel.trained(ROWS, "here").as_json()))
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    file = tmp_path / "model.json"
    file.write_text(json.dumps(content))
    with pytest.raises(UserError, match=f"model.json.*{said}"):
        read_model(file)


def test_decisions_inside_each_other_have_a_limit(tmp_path: Path) -> None:
    content = CounterModel.trained(ROWS, "here").as_json()
    tree: Any = 1.0
    for _ in range(DEPTH + 1):
        tree = [0, 1.0, tree, 2.0]
    file = tmp_path / "model.json"
    file.write_text(json.dumps({**content, "counters": {"l2": tree}}))
    with pytest.raises(UserError, match="at most 12 decisions"):
        read_model(file)
