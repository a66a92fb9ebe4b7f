"""Validate the tables of ``target.toml`` and report the first mistake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Union

from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from gi_cuda.spec import target
from gi_cuda.spec.oracles import CHECKS, Oracle
from gi_cuda.spec.target import Description, Tables
from gi_cuda.spec.toml_file import key_types
from gi_cuda.spec.toml_file.locate import Key, KeyLines
from gi_cuda.spec.toml_file.table import did_you_mean, mistake

_KINDS = [str(check.__dataclass_fields__["kind"].default) for check in CHECKS]


def _known_kind(data: Any) -> Any:
    kind = data.get("kind") if isinstance(data, dict) else None
    if isinstance(kind, str) and kind in _KINDS:
        return data
    what = "the key is missing" if kind is None else f"there is no oracle of kind {kind!r}"
    hint = did_you_mean(str(kind), _KINDS) if kind else f"One of {', '.join(_KINDS)}."
    raise mistake(what, hint, key="kind")


_EXAMPLES = {
    "args": 'args = ["in", "out", "n"]',
    "at": "at = 8",
    "block": 'block = ["128"]',
    "buffer": 'buffer = "in"',
    "data": 'data = "data.py"',
    "default": "default = 1",
    "grid": 'grid = ["(n + 127) / 128"]',
    "kernel": 'kernel = "scale"',
    "kernels": 'kernels = ["scale"]',
    "launch": "a table [[launch]] with kernel, grid, block and args",
    "members": "members = { n = 0, scale = 4 }",
    "name": 'name = "n"',
    "oracle": 'a table [oracle] with kind = "exact"',
    "role": 'role = "input", or "inout", "output", "scratch"; of a [[case]] "train" or "held-out"',
    "size": 'size = "n"',
    "source": 'source = "kernel.cu"',
    "target": "a table [target] with name, source, kernels and data",
    "that": 'that = "BLOCK <= 1024"',
    "type": 'type = "float32"',
    "values": "values = [1, 2, 4]",
}
"""Examples for keys that may be missing, for hints."""

_Check = Annotated[
    Union[CHECKS],  # type: ignore[valid-type]  # noqa: UP007
    Field(discriminator="kind"),
    BeforeValidator(_known_kind),
]
_Checks = Annotated[
    list[_Check],
    BeforeValidator(key_types.one_or_many),
    Field(min_length=1),
]


@dataclass(frozen=True, kw_only=True)
class TargetFile(Tables):
    """Contents of ``target.toml``, each key checked on its own."""

    target: Description
    oracle: Annotated[Oracle, key_types.read_as(_Checks, lambda checks: Oracle(tuple(checks)))]

    @classmethod
    def known_keys(cls) -> list[str]:
        return ["target", *Tables.known_keys()]


# The table modules import key_types only for type checking, so that workers do not load pydantic.
# Pydantic therefore gets the names here.
_FILE = TypeAdapter(TargetFile)
_FILE.rebuild(raise_errors=True, _types_namespace={**vars(target), "key": key_types})


def read_tables(data: dict[str, Any], places: KeyLines) -> TargetFile:
    """Validate the tables of a file.

    Raises:
        UserError: the mistake that stands first in the file, with its key and line.
    """
    try:
        return _FILE.validate_python(data)
    except ValidationError as error:
        found = [(_key(detail, data), detail) for detail in error.errors()]
    key, detail = min(found, key=lambda pair: places.line(pair[0]))
    what, hint = _explain(detail)
    raise places.error(key, what, hint)


def _key(detail: ErrorDetails, data: dict[str, Any]) -> Key:
    """Return the key of a mistake in the file.

    Parts of pydantic's location that are not in the file, such as the tag of a union, are left out.
    The key that our own checks name is appended.
    """
    key: list[str | int] = []
    value: Any = data
    location = list(detail["loc"])
    if location[:1] == ["oracle"] and isinstance(data.get("oracle"), dict):
        del location[1:2]  # a single table is read as a list of one
    missing = location.pop() if detail["type"] == "missing" else None
    for part in location:
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            continue
        key.append(part)
    named = detail.get("ctx", {}).get("key", missing)
    return tuple(key) if named is None else (*key, named)


def _explain(detail: ErrorDetails) -> tuple[str, str | None]:
    context = detail.get("ctx", {})
    if detail["type"] == "target":
        return context["what"], context.get("hint") or None
    if detail["type"] == "missing":
        name = str(detail["loc"][-1])
        return "the key is missing", f"Add it, as in: {_EXAMPLES.get(name, f'{name} = ...')}"
    what = detail["msg"].replace("Input should", "it should")
    if detail["type"] == "dataclass_type":
        what = "it should be a table"
    # Pydantic reads TOML arrays as tuples; users know them as lists.
    what = what.replace("valid tuple", "valid list")
    given = detail["input"]
    shown = repr(given)
    return f"{what}, but is {shown if len(shown) <= 60 else type(given).__name__}", None
