"""Base class of the tables of ``target.toml``, and hints for mistakes in them."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Return a hint with the known word that resembles `word`, or with all known words."""
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"Did you mean {close[0]}?"
    return f"There is: {', '.join(known)}." if known else "There is none."


def mistake(what: str, hint: str = "", **key: str) -> Exception:
    """Make an error about the value that is being read, or about its `key`."""
    from pydantic_core import PydanticCustomError

    return PydanticCustomError("target", "{what}", {"what": what, "hint": hint, **key})


def renamed(**keys: str) -> dict[str, Any]:
    """Return pydantic's configuration of a table with renamed keys: ``field="key"``."""
    return {"alias_generator": lambda name: keys.get(name, name)}


class Table:
    """Base class of the tables of ``target.toml``, which are frozen dataclasses.

    The fields are the allowed keys of the table. Only the field `line` is no key; it is the line of
    the table in the file.

    Pydantic validates tables by the types in `key_types`. It is imported only when a file is read,
    because workers get their target ready-made and start faster without pydantic.
    """

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = renamed()

    @classmethod
    def known_keys(cls) -> list[str]:
        """Return the allowed keys, in order."""
        return own_keys(cls)

    @classmethod
    def shaped(cls, table: Mapping[str, Any]) -> Mapping[str, Any]:
        """Convert a table of the file to one whose keys are those of the fields."""
        return table

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        def shaped(data: Any) -> Any:
            if not isinstance(data, dict):
                return data
            known = cls.known_keys()
            for key in data:
                if key not in known:
                    raise mistake("there is no such key", did_you_mean(key, known), key=key)
            return cls.shaped(data)

        return core_schema.no_info_before_validator_function(shaped, handler(source))


def own_keys(table: type[Table]) -> list[str]:
    """Return the keys of a table's fields."""
    key = table.__pydantic_config__["alias_generator"]
    return [key(field.name) for field in fields(table) if field.name != "line"]  # type: ignore[arg-type]
