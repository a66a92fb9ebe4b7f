"""What the tables of ``target.toml`` have in common, and hints for who wrote a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """A hint that offers what was probably meant, or else all there is."""
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"Did you mean {close[0]}?"
    return f"There is: {', '.join(known)}." if known else "There is none."


def mistake(what: str, hint: str = "", **key: str) -> Exception:
    """An error about the value that is being read, or about its `key`."""
    from pydantic_core import PydanticCustomError

    return PydanticCustomError("target", "{what}", {"what": what, "hint": hint, **key})


def renamed(**keys: str) -> dict[str, Any]:
    """pydantic's configuration of a table some of whose fields have other names than their keys."""
    return {"alias_generator": lambda name: keys.get(name, name)}


class Table:
    """A table of ``target.toml``, as a frozen dataclass: its fields are its keys, and no other key
    is allowed. A field `line` is no key; it says where the table stands.

    pydantic reads tables, by the types that `key_types` has for their fields. Workers, which are
    sent their target, start sooner without pydantic: nothing here loads it before a file is read.
    """

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = renamed()

    @classmethod
    def known_keys(cls) -> list[str]:
        """The keys that it may have, in order."""
        return own_keys(cls)

    @classmethod
    def shaped(cls, table: Mapping[str, Any]) -> Mapping[str, Any]:
        """A table as the file has it, made one whose keys are those of the fields."""
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
    """The keys of a table's fields."""
    key = table.__pydantic_config__["alias_generator"]
    return [key(field.name) for field in fields(table) if field.name != "line"]  # type: ignore[arg-type]
