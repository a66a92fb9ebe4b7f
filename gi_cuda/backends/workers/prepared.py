"""What an oracle prepared, in a file: arrays and words only, so that reading it runs nothing.

A run's folder may come from a stranger, and a pickle is a program.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from gi_cuda.spec import Reference
from gi_cuda.spec.oracles.compare import Spread

_RECORDS: Final[Mapping[str, type[Reference] | type[Spread]]] = {
    kind.__name__: kind for kind in (Reference, Spread)
}
"""What may be made of what is read, besides arrays, numbers, texts, lists and mappings."""

_TREE = "tree"

UNREADABLE = (OSError, ValueError, KeyError, TypeError, IndexError, EOFError, BadZipFile)
"""How it shows that a file is not there, or not what this version writes."""


def save(path: Path, reference: Reference) -> None:
    """Write what variants are judged against.

    Raises:
        TypeError: there is something in it that cannot be stored.
        OSError: the file cannot be written.
    """
    arrays: list[NDArray[Any]] = []
    tree = json.dumps(_told(reference, arrays, {}))
    stored = {_TREE: np.array(tree), **{str(n): one for n, one in enumerate(arrays)}}
    np.savez(path, **stored)  # type: ignore[arg-type]


def load(path: Path) -> Reference:
    """Read that again.

    Raises:
        Exception: one of :data:`UNREADABLE`.
    """
    with np.load(path, allow_pickle=False) as stored:
        arrays = [stored[str(number)] for number in range(len(stored.files) - 1)]
        made = _made(json.loads(str(stored[_TREE])), arrays)
    if not isinstance(made, Reference):
        raise TypeError
    return made


def _told(value: Any, arrays: list[NDArray[Any]], known: dict[int, int]) -> Any:
    """A value for JSON; arrays become their numbers, those that occur twice the same."""
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        if id(value) not in known:
            known[id(value)] = len(arrays)
            arrays.append(value)
        return ["array", known[id(value)]]
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return ["map", {name: _told(one, arrays, known) for name, one in value.items()}]
    if isinstance(value, tuple | list):
        return ["list", [_told(one, arrays, known) for one in value]]
    if value is None or type(value) in (bool, int, float, str):
        return ["plain", value]
    for name, kind in _RECORDS.items():
        if isinstance(value, kind):
            names = [one.name for one in fields(kind)]
            return [name, {one: _told(getattr(value, one), arrays, known) for one in names}]
    raise TypeError(type(value).__name__)


def _made(told: Any, arrays: Sequence[NDArray[Any]]) -> Any:
    kind, value = told
    match kind:
        case "array":
            return arrays[value]
        case "map":
            return {name: _made(one, arrays) for name, one in value.items()}
        case "list":
            return tuple(_made(one, arrays) for one in value)
        case "plain":
            return value
    return _RECORDS[kind](**{name: _made(one, arrays) for name, one in value.items()})
