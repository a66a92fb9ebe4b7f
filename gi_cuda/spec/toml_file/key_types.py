"""Types of single keys of ``target.toml``: pydantic validators and conversions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, GetPydanticSchema, Strict
from pydantic_core import core_schema

from gi_cuda import BACKENDS
from gi_cuda.spec.expression import Expression, ExpressionError, parse
from gi_cuda.spec.numbers import SMALL_FLOATS, NumberType
from gi_cuda.spec.toml_file.table import did_you_mean, mistake

TYPES = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)
_C_TYPES = {
    **{"char": "int8", "short": "int16", "int": "int32", "long": "int64"},
    **{"unsigned": "uint32", "unsigned int": "uint32", "size_t": "uint64", "bool": "uint8"},
    **{"half": "float16", "float": "float32", "double": "float64"},
}
_SMALL_IN_C = {
    **{"__nv_bfloat16": "bfloat16", "nv_bfloat16": "bfloat16"},
    **{"__nv_fp8_e4m3": "float8_e4m3", "__nv_fp8_e5m2": "float8_e5m2"},
}
_ALL_TYPES = (*TYPES, *SMALL_FLOATS)
_LONGEST = 100
"""Largest length of a name that becomes part of file names, bytes."""


@dataclass(frozen=True, slots=True)
class MemberPlace:
    """Position and type of a member in a struct.

    Attributes:
        dtype: type of the member's numbers.
        at: offset of the member, bytes.
        count: number of elements if the member is an array, else 1.
    """

    dtype: np.dtype[Any]
    at: int
    count: int = 1

    @property
    def bytes(self) -> int:
        """Size of the member, bytes."""
        return self.dtype.itemsize * self.count


_STRICTEST = 128
"""Largest alignment, bytes."""

_VECTOR = re.compile(r"(u?(?:char|short|int|long|longlong)|float|double|half)([1-4])")


def read_as(source: Any, make: Callable[[Any], Any] = lambda value: value) -> GetPydanticSchema:
    """Make a schema that reads a key as the type `source` and converts it with `make`."""
    return GetPydanticSchema(
        lambda _, handler: core_schema.no_info_after_validator_function(make, handler(source))
    )


def _name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*", text, re.ASCII):
        raise mistake(f"{text!r} is not a name in C", "Use letters, digits and underscores.")
    return text


def _file_name(text: str) -> str:
    if text.startswith(".") or not text.isprintable() or set(text) & set("/\\"):
        raise mistake(
            f"{text!r} cannot be the name of a file",
            "Files are named after it: leave out slashes, control characters and a point in front.",
        )
    if len(text.encode()) > _LONGEST:
        raise mistake(f"the name is longer than {_LONGEST} bytes", "Files are named after it.")
    return text


def _type(text: str) -> np.dtype[Any]:
    if text in TYPES:
        return np.dtype(text)
    if text in _C_TYPES:
        raise mistake(f"{text!r} is a name in C, not in numpy", f"Write {_C_TYPES[text]!r}.")
    if small := SMALL_FLOATS.get(text):
        raise mistake(
            f"only buffers are of type {text!r}", f"Write {small.dtype.name!r}, and give its bits."
        )
    raise mistake(f"there is no type {text!r} here", did_you_mean(text, TYPES))


def _number_type(text: str) -> NumberType:
    if text in SMALL_FLOATS:
        return NumberType(text)
    if text in _SMALL_IN_C:
        raise mistake(f"{text!r} is CUDA's name for it", f"Write {_SMALL_IN_C[text]!r}.")
    if text not in TYPES and text not in _C_TYPES:
        raise mistake(f"there is no type {text!r} here", did_you_mean(text, _ALL_TYPES))
    return NumberType(_type(text).name)


def _component_type(text: str) -> np.dtype[Any]:
    if vector := _VECTOR.fullmatch(text):
        part = _C_TYPES.get(vector[1].removeprefix("u"), "int64")
        part = f"u{part}" if vector[1].startswith("u") else part
        raise mistake(
            f"{text!r} is a vector in CUDA, and this the type of one component",
            f'Write type = "{part}" and components = {vector[2]}.',
        )
    return _type(text)


def _components(count: int) -> int:
    if count not in (1, 2, 4):
        raise mistake(
            f"a texture has no texels of {count} components",
            "They have 1, 2 or 4: add one that is not used, or read the components one by one.",
        )
    return count


def _alignment(count: int) -> int:
    if count < 1 or count & (count - 1) or count > _STRICTEST:
        raise mistake(f"nothing is aligned to {count} bytes", "Write 1, 2, 4, 8, 16 and so on.")
    return count


def _place(value: Any) -> Any:
    shaped = isinstance(value, list) and 2 <= len(value) <= 3 and isinstance(value[0], str)
    numbers = value[1:] if shaped else []
    if not shaped or any(type(one) is not int for one in numbers) or min(numbers) < 0:
        raise mistake(
            f"{value!r} says of no member what it is",
            'Write its type, its first byte and, of an array, how many: ["float32", 8, 3].',
        )
    return MemberPlace(_type(value[0]), *numbers)


def _expression(text: str) -> Expression:
    try:
        expression = parse(text)
    except ExpressionError as error:
        raise mistake(error.what, error.hint or "") from None
    if expression.calls:
        raise mistake(
            f"there is no function {min(expression.calls)!r} in expressions",
            "Write it with operators, e.g. `a < b ? a : b`.",
        )
    return expression


def _command(value: Any) -> Any:
    if isinstance(value, list):
        raise mistake(
            "a command is one text, and this is a list",
            'Write it as in a terminal: "make && ./prepare". A shell runs it.',
        )
    if isinstance(value, str) and (not value.strip() or "\0" in value):
        raise mistake("the command is empty", "Leave the key out, or write a command.")
    return value


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise mistake(
            f"this is not a regular expression: {error}",
            "Write it between single quotes, in which a backslash is a backslash.",
        ) from None
    return text


def _group_pattern(text: str) -> str:
    if re.compile(_pattern(text)).groups != 1:
        raise mistake(
            "the regular expression needs one group, around the number",
            "For example 'kernel time: ([0-9.]+) ms'; a group that is none begins with (?:",
        )
    return text


def one_or_many(value: Any) -> Any:
    """Return a list: the value itself, or a list of one value."""
    return value if isinstance(value, list) else [value]


def _number_text(value: Any) -> Any:
    # An expression may be written as a bare number: size = 4.
    return str(value) if type(value) is int else value


def _range(value: Any) -> Any:
    """Expand a range ``{from = 32, to = 256, step = 32}`` to a list of values."""
    if not isinstance(value, dict):
        return value
    extra = sorted(set(value) - {"from", "to", "step"})
    if extra or "from" not in value or "to" not in value:
        raise mistake(
            f"a range has no key {extra[0]!r}" if extra else "a range needs `from` and `to`",
            "Write values = {from = 32, to = 256, step = 32}.",
        )
    first, last, step = value["from"], value["to"], value.get("step", 1)
    if not all(type(part) is int for part in (first, last, step)) or step < 1 or last < first:
        raise mistake(
            "a range takes whole numbers, from <= to, step >= 1",
            "Write values = {from = 32, to = 256, step = 32}.",
        )
    if (last - first) // step >= 100_000:
        raise mistake("the range has more than 100000 values", "Take a wider step.")
    return list(range(first, last + 1, step))


def _value(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise mistake(f"{value!r} is neither a number nor a text", "For on and off use a flag.")
    if isinstance(value, float) and not math.isfinite(value):
        raise mistake(f"{value!r} is not a finite number")
    if isinstance(value, str) and "\n" in value:
        raise mistake("a value is a single line")
    return value


def _default(value: Any) -> Any:
    return _value(int(value) if isinstance(value, bool) else value)


_Item = TypeVar("_Item")
_FILLED = Field(min_length=1)
AtLeastOne = Annotated[
    tuple[_Item, ...],
    GetPydanticSchema(
        lambda source, handler: core_schema.no_info_after_validator_function(
            tuple,
            handler(Annotated[list[get_args(source)[0]], _FILLED]),  # type: ignore[misc]
        )
    ),
]
Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, AfterValidator(_name)]
FileName = Annotated[Text, AfterValidator(_file_name)]
File = Annotated[Path, read_as(Text, Path)]
Folder = Annotated[Path, read_as(str, Path)]
Command = Annotated[str, BeforeValidator(_command)]
Pattern = Annotated[Text, AfterValidator(_pattern)]
GroupPattern = Annotated[Text, AfterValidator(_group_pattern)]
Flag = Annotated[bool, Strict()]
NumberKind = Annotated[NumberType, read_as(str, _number_type)]
DType = Annotated[np.dtype[Any], read_as(str, _type)]
ComponentType = Annotated[np.dtype[Any], read_as(str, _component_type)]
Components = Annotated[int, Strict(), AfterValidator(_components)]
ReadAsFloat = Annotated[
    bool, read_as(Literal["element", "normalized_float"], "normalized_float".__eq__)
]
_Address = Literal["wrap", "clamp", "mirror", "border"]
AddressModes = Annotated[
    tuple[str, ...],
    read_as(
        Annotated[list[_Address], BeforeValidator(one_or_many), Field(min_length=1, max_length=3)],
        tuple,
    ),
]
Backends = AtLeastOne[Annotated[str, read_as(Literal[BACKENDS])]]

ExpressionText = Annotated[str, BeforeValidator(_number_text)]
IntExpression = Annotated[Expression, read_as(ExpressionText, _expression)]
_Triple = Annotated[
    list[ExpressionText], BeforeValidator(one_or_many), Field(min_length=1, max_length=3)
]
Geometry = Annotated[
    tuple[Expression, ...], read_as(_Triple, lambda texts: tuple(map(_expression, texts)))
]
_Two = Annotated[list[Name], Field(min_length=2, max_length=2)]
Pair = Annotated[tuple[str, str], read_as(_Two, tuple)]

Values = Annotated[
    tuple[Annotated[int | float | str, read_as(Any, _value)], ...], BeforeValidator(_range)
]
Default = Annotated[int | float | str, read_as(Any, _default)]

Standard = Annotated[str, Field(pattern=r"^(c|gnu)\+\+\d[\da-z]$")]
NotNegative = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Strict(), Field(ge=0, lt=1)]
Seconds = Annotated[float, Strict(), Field(gt=0, le=1_000_000)]
Pairs = Annotated[int, Strict(), Field(ge=4, le=1000)]
Count = Annotated[int, Strict(), Field(ge=1)]
Integer = Annotated[int, Strict()]
Offset = Annotated[int, Strict(), Field(ge=0)]
Alignment = Annotated[int, Strict(), AfterValidator(_alignment)]
Place = Annotated[MemberPlace, read_as(Any, _place)]
Runs = Annotated[int, Strict(), Field(ge=1)]
SeveralRuns = Annotated[int, Strict(), Field(ge=2)]
PythonFunction = Annotated[str, Field(pattern=r"^.+\.py:[A-Za-z_]\w*$")]
