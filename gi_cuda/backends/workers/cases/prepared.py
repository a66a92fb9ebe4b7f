"""Store an oracle's prepared data in a file of arrays and JSON, so that reading it runs no code.

A run's folder may come from a stranger, and a pickle can run code. The arrays are mapped rather
than read: all workers share their memory, and a replacement worker is ready soon.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gi_cuda.spec import Reference
from gi_cuda.spec.oracles.compare import Spread

_RECORDS: Final[Mapping[str, type[Reference] | type[Spread]]] = {
    kind.__name__: kind for kind in (Reference, Spread)
}
"""Classes that may be made when a file is read, besides arrays, numbers, texts, lists and
mappings."""

_UNIT: Final = 64
"""Alignment of arrays in bytes, for code that handles several values at a time."""

UNREADABLE = (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError)
"""Exceptions raised when a file is missing, or another version wrote it."""


def save(path: Path, reference: Reference) -> None:
    """Write the data that variants are judged against.

    Raises:
        TypeError: the data contains something that cannot be stored.
        OSError: the file cannot be written.
    """
    arrays: list[NDArray[Any]] = []
    tree = _told(reference, arrays, {})
    kinds = [(one.dtype.str, one.shape) for one in arrays]
    # Replacing the file leaves processes that have mapped the old one undisturbed.
    fresh = path.with_name(f"{path.name}.new")
    with fresh.open("wb") as file:
        file.write(json.dumps([tree, kinds]).encode() + b"\n")
        for one in arrays:
            file.seek(_next_unit(file.tell()))
            file.write(np.ascontiguousarray(one).data)
    fresh.replace(path)


def load(path: Path) -> Reference:
    """Read the data that :func:`save` wrote. Its arrays are read-only.

    Raises:
        Exception: one of :data:`UNREADABLE`.
    """
    with path.open("rb") as file:
        line = file.readline()
    tree, kinds = json.loads(line)
    whole: NDArray[Any] = np.memmap(path, np.uint8, "r").view(np.ndarray)
    arrays, at = [], len(line)
    for kind, shape in kinds:
        at, dtype = _next_unit(at), np.dtype(kind)
        size = dtype.itemsize * math.prod(shape)
        arrays.append(whole[at : at + size].view(dtype).reshape(shape))
        at += size
    made = _made(tree, arrays)
    if not isinstance(made, Reference):
        raise TypeError
    return made


def is_mapped(array: NDArray[Any]) -> bool:
    """Tell whether an array lies in the pages of a file that :func:`load` read."""
    base: object = array
    while isinstance(base, np.ndarray) and not isinstance(base, np.memmap):
        base = base.base
    return isinstance(base, np.memmap)


def _next_unit(at: int) -> int:
    return -(-at // _UNIT) * _UNIT


def _told(value: Any, arrays: list[NDArray[Any]], known: dict[int, int]) -> Any:
    """Convert a value for JSON. Arrays become their numbers, each array one number."""
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
