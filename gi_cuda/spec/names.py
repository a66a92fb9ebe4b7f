"""Resolving what ``target.toml`` names: files, identifiers, expressions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from gi_cuda.errors import UserError
from gi_cuda.spec import schema
from gi_cuda.spec.expression import Expression, ExpressionError, parse
from gi_cuda.spec.hints import did_you_mean
from gi_cuda.spec.locate import Key, KeyLines

PARAMETER, SCALAR = "parameter", "scalar"
OTHER_PARAMETER = "parameter with values that are not integers"
OTHER_SCALAR = "scalar that is not an integer"
REDRAWN_SCALAR = "redrawn scalar"
TEXTURE = "texture"


@dataclass(frozen=True, slots=True)
class Files:
    """Finds the files a target names."""

    folder: Path
    places: KeyLines

    def find(self, name: str, key: Key) -> Path:
        path = (self.folder / name).resolve()
        if not path.is_file():
            raise UserError(
                f"the file {name!r} is not there",
                where=self.places.at(key),
                hint=f"It should be {path}.",
            )
        return path

    def find_folder(self, name: str, key: Key) -> Path:
        path = (self.folder / name).resolve()
        if not path.is_dir():
            raise UserError(
                f"the folder {name!r} is not there",
                where=self.places.at(key),
                hint=f"It should be {path}.",
            )
        return path


@dataclass(frozen=True, slots=True)
class NameResolver:
    """Resolves names and expressions of the file.

    Attributes:
        kinds: for each declared name what it is, e.g. ``"integer parameter"``.
    """

    places: KeyLines
    kinds: Mapping[str, str]

    def of(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.kinds.items() if kind in kinds]

    def check(self, name: str, allowed: Collection[str], key: Key, what: str) -> None:
        if name not in allowed:
            raise UserError(
                f"there is no {what} {name!r}",
                where=self.places.at(key),
                hint=did_you_mean(name, list(allowed)),
            )

    def expression(self, text: str, key: Key, allowed: Collection[str]) -> Expression:
        """The expression `text`, which may use the names `allowed`."""
        where = self.places.at(key)
        try:
            expression = parse(text)
        except ExpressionError as error:
            raise UserError(error.what, where=where, hint=error.hint) from None
        if expression.calls:
            raise UserError(
                f"there is no function {min(expression.calls)!r} in expressions",
                where=where,
                hint="Write it with operators, e.g. `a < b ? a : b`.",
            )
        for name in sorted(expression.names - set(allowed)):
            kind = self.kinds.get(name)
            raise UserError(
                f"{name!r} is a {kind} and cannot be used here"
                if kind
                else f"there is no {name!r} to use here",
                where=where,
                hint=did_you_mean(name, list(allowed)),
            )
        return expression


def kinds_of_names(table: schema.TargetFile) -> dict[str, str]:
    kinds = {
        parameter.name: PARAMETER
        if all(type(value) is int for value in parameter.values or ())
        else OTHER_PARAMETER
        for parameter in table.parameter
    }
    for scalar in table.scalar:
        kind = SCALAR if "int" in scalar.type else OTHER_SCALAR
        kinds[scalar.name] = REDRAWN_SCALAR if scalar.redraw else kind
    for buffer in table.buffer:
        kinds[buffer.name] = f"{buffer.role} buffer"
    for texture in table.texture:
        kinds[texture.name] = TEXTURE
    return kinds


def check_distinct(table: schema.TargetFile, places: KeyLines) -> None:
    """Parameters, buffers, textures, scalars and counters share one space of names; cases have
    their own.

    A macro of ``[build]`` may be a parameter as well: what the build gives is then its default.
    """
    parameters = {item.name for item in table.parameter if item.kind != "option"}
    named: list[tuple[Key, str]] = [
        (("build", "define", name), name) for name in table.build.define if name not in parameters
    ]
    for group in ("parameter", "scalar", "buffer", "texture"):
        items = getattr(table, group)
        named += [((group, index, "name"), item.name) for index, item in enumerate(items)]
    named += [
        (("launch", index, "counter"), launch.counter)
        for index, launch in enumerate(table.launch)
        if launch.counter is not None
    ]
    cases: list[tuple[Key, str]] = [
        (("case", index, "name"), case.name) for index, case in enumerate(table.case)
    ]
    for names in (named, cases):
        seen: dict[str, Key] = {}
        for key, name in names:
            counters = key[-1] == seen.get(name, ("",))[-1] == "counter"
            if name in seen and not counters:
                raise UserError(
                    f"the name {name!r} is taken",
                    where=places.at(key),
                    hint=f"It stands in line {places.line(seen[name])} already.",
                )
            seen[name] = key
