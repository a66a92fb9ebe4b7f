"""A model of hardware counters: a regression tree from the parameters to each counter.

How much work a configuration makes hardly depends on the GPU, so that a model of one GPU is of use
on another one. The trees need numpy alone, and a file of them is JSON; scikit-learn would be a
dependency more, whose saved trees are pickles of one version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gi_cuda.errors import UserError
from gi_cuda.spec.parameters import Value
from gi_cuda.tune.counters import LOCAL, UNITS, Counters, use_of
from gi_cuda.tune.grid import Grid
from gi_cuda.tune.t1.json_node import Node, read_json
from gi_cuda.tune.trees import DEPTH, Array, Tree, grow, predict

_VERSION = 1
_HINT = "make one with gi-cuda tune --train-model FILE"


@dataclass(frozen=True)
class CounterModel:
    """A model of counters.

    Attributes:
        parameters: those that varied, in the order of the trees' columns, with their texts: the
            number of a text is its place among them.
        trees: the tree of each counter.
        file: its file, for messages.
    """

    parameters: Mapping[str, Sequence[str]]
    trees: Mapping[str, Tree]
    file: str = "the model"

    @classmethod
    def trained(cls, rows: Sequence[tuple[Mapping[str, Value], Counters]], where: str) -> Self:
        """Fit a model to configurations and their counters.

        Args:
            where: what they are of, for the message.

        Raises:
            UserError: there are no two different configurations, or no unit of which all tell.
        """
        values = {name: [row[name] for row, _ in rows] for name in rows[0][0]} if rows else {}
        varied = {name: column for name, column in values.items() if len(set(column)) > 1}
        counters = (*UNITS, *map(use_of, UNITS), LOCAL)
        shared = [name for name in counters if all(name in found for _, found in rows)]
        if not varied or not {*UNITS}.intersection(shared):
            what = "a model needs two different configurations with the same hardware counters"
            hint = "KTT records counters with profiling; ncu reads them of a target on a GPU"
            raise UserError(what, where=where, hint=hint)
        texts = {
            name: [value for value in dict.fromkeys(column) if isinstance(value, str)]
            for name, column in varied.items()
        }
        model = cls(texts, {})
        features = np.stack([model._numbers(name, column) for name, column in varied.items()], 1)
        columns = {name: np.array([found[name] for _, found in rows]) for name in shared}
        return cls(texts, {name: grow(features, column) for name, column in columns.items()})

    def check(self, grid: Grid) -> None:
        """Raise UserError if a grid has other parameters than the model, or texts unknown to it."""
        varied = {n for n, values in zip(grid.names, grid.values, strict=True) if len(values) > 1}
        if not varied <= self.parameters.keys() <= set(grid.names):
            own, here = ", ".join(self.parameters), ", ".join(sorted(varied))
            raise self._mistake(f"the model is of the parameters {own}; here vary {here}")
        self.predicted(grid, np.empty((0, len(grid.names)), np.int32))

    def predicted(self, grid: Grid, points: NDArray[np.int32]) -> dict[str, Array]:
        """Return each counter at some points of a grid, of shape (points,)."""
        features = np.empty((len(points), len(self.parameters)))
        for column, name in enumerate(self.parameters):
            at = grid.names.index(name)
            features[:, column] = self._numbers(name, grid.values[at])[points[:, at]]
        return {name: predict(tree, features) for name, tree in self.trees.items()}

    def _numbers(self, name: str, values: Sequence[Value]) -> Array:
        """Return the numbers that stand for values of a parameter.

        Raises:
            UserError: one is a text that did not occur in training.
        """
        texts = {text: at for at, text in enumerate(self.parameters[name])}
        numbers = [texts.get(one) if isinstance(one, str) else one for one in values]
        if None in numbers:
            odd = values[numbers.index(None)]
            raise self._mistake(f"the model does not know {name} = {odd!r}")
        return np.array(numbers, np.float64)

    def _mistake(self, what: str) -> UserError:
        return UserError(what, where=self.file, hint=_HINT)

    def as_json(self) -> dict[str, Any]:
        """Return the content of the model's file."""
        parameters = [{"name": name, "texts": texts} for name, texts in self.parameters.items()]
        return {"counter_model": _VERSION, "parameters": parameters, "counters": self.trees}


def read_model(path: Path) -> CounterModel:
    """Read a model.

    Raises:
        UserError: the file cannot be read, or is no model, or has a mistake: the error names the
            path inside the file, as ``counters.dram[2]``.
    """
    root = read_json(path)
    if "counter_model" not in root or root["counter_model"].value != _VERSION:
        raise root.mistake("this is no model of counters, or one of another version", _HINT)
    parameters = {
        one["name"].text(): [text.text() for text in one["texts"].items()]
        for one in root["parameters"].items()
    }
    counters = root["counters"]
    trees = {name: _tree(counters[name], len(parameters)) for name in counters.object()}
    if not {*UNITS} & trees.keys():
        raise counters.mistake(f"there is no unit of a GPU ({', '.join(UNITS)})")
    return CounterModel(parameters, trees, str(path))


def _tree(node: Node, columns: int, depth: int = DEPTH) -> Tree:
    if not isinstance(node.value, list):
        return node.number()
    parts = list(node.items())
    if len(parts) != 4 or not depth or parts[0].number() not in range(columns):
        raise node.mistake(
            f"a decision is [parameter, threshold, tree, tree], with one of {columns} parameters,"
            f" counted from 0, and at most {DEPTH} decisions inside each other"
        )
    low, high = (_tree(part, columns, depth - 1) for part in parts[2:])
    return int(parts[0].value), parts[1].number(), low, high
