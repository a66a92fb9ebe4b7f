"""Mapping between dataclasses and database rows: each field is a column of the same name.

Numbers, text and bytes are stored as they are. Enumerations are stored as their values, tuples and
mappings as JSON. None is stored as NULL.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from types import NoneType
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Coder:
    """A pair of functions that encode and decode values of one type; None is never converted."""

    encode: Callable[[Any], Any] | None = None
    decode: Callable[[Any], Any] | None = None

    def stored(self, value: object) -> object:
        return value if value is None or self.encode is None else self.encode(value)

    def loaded(self, value: object) -> object:
        return value if value is None or self.decode is None else self.decode(value)


class Columns(Generic[T]):
    """The columns that hold a dataclass.

    Args:
        kind: the dataclass.
        derived: properties of the dataclass that get columns too, for use in SQL queries.
        renamed: column name by field name, where the two differ.
    """

    def __init__(
        self, kind: type[T], derived: Sequence[str] = (), renamed: Mapping[str, str] | None = None
    ) -> None:
        hints, names = get_type_hints(kind), renamed or {}
        self._kind, self._derived = kind, derived
        self._fields = [
            (field.name, names.get(field.name, field.name), _coder(hints[field.name]))
            for field in fields(kind)  # type: ignore[arg-type]  # T is a dataclass
        ]
        self.names = (*(column for _, column, _ in self._fields), *derived)

    def row(self, one: T) -> dict[str, object]:
        """Return the stored form of a value, by column."""
        stored = {column: coder.stored(getattr(one, name)) for name, column, coder in self._fields}
        return stored | {name: getattr(one, name) for name in self._derived}

    def read(self, row: sqlite3.Row) -> T:
        """Return the value that a row holds; further columns of the row are ignored."""
        return self._kind(
            **{name: coder.loaded(row[column]) for name, column, coder in self._fields}
        )


def _coder(hint: Any) -> _Coder:
    """Return the encoder and decoder for a type."""
    if NoneType in get_args(hint):
        (hint,) = (one for one in get_args(hint) if one is not NoneType)
    origin = get_origin(hint) or hint
    if issubclass(origin, tuple):
        element: type[Any] = get_args(hint)[0]
        if is_dataclass(element):
            names = [field.name for field in fields(element)]
            return _Coder(
                lambda several: json.dumps([[getattr(one, n) for n in names] for one in several]),
                lambda text: tuple(element(*row) for row in json.loads(text)),
            )
        return _Coder(json.dumps, lambda text: tuple(json.loads(text)))
    if issubclass(origin, Mapping):
        return _Coder(lambda mapping: json.dumps(dict(mapping)), json.loads)
    if issubclass(origin, Enum | bool):
        return _Coder(decode=origin)
    return _Coder(encode=_printable) if origin is str else _Coder()


def _printable(text: str) -> str:
    """Replace surrogate characters, which UTF-8 cannot encode.

    Compilers quote undecodable bytes of a source in their messages; those bytes become surrogates.
    """
    return text.encode("utf-8", "replace").decode("utf-8")
