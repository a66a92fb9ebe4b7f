"""The shape of ``target.toml``: what keys there are, of what type, and which must be there."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from gi_cuda.spec.hints import did_you_mean
from gi_cuda.spec.target import BACKENDS

TYPES = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)
_C_TYPES = {
    **{"char": "int8", "short": "int16", "int": "int32", "long": "int64"},
    **{"unsigned": "uint32", "unsigned int": "uint32", "size_t": "uint64", "bool": "uint8"},
    **{"half": "float16", "float": "float32", "double": "float64"},
}


def mistake(what: str, hint: str = "") -> PydanticCustomError:
    """An error about the value at hand."""
    return PydanticCustomError("target", "{what}", {"what": what, "hint": hint})


def _name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_]\w*", text, re.ASCII):
        raise mistake(f"{text!r} is not a name in C", "Use letters, digits and underscores.")
    return text


def _type(text: str) -> str:
    if text in TYPES:
        return text
    if text in _C_TYPES:
        raise mistake(f"{text!r} is a name in C, not in numpy", f"Write {_C_TYPES[text]!r}.")
    raise mistake(f"there is no type {text!r} here", did_you_mean(text, TYPES))


def _one_or_many(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _expression_text(value: Any) -> Any:
    # A bare number is as good as its text.
    return str(value) if type(value) is int else value


def _range(value: Any) -> Any:
    """The list that a ``{from = 32, to = 256, step = 32}`` stands for."""
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


def _truth(value: Any) -> Any:
    return int(value) if isinstance(value, bool) else value


def _backend(name: str) -> str:
    if name not in BACKENDS:
        raise mistake(f"it should be {' or '.join(map(repr, BACKENDS))}, but is {name!r}")
    return name


Name = Annotated[str, AfterValidator(_name)]
Text = Annotated[str, Field(min_length=1)]
ExpressionText = Annotated[str, BeforeValidator(_expression_text)]
TypeName = Annotated[str, AfterValidator(_type)]
Triple = Annotated[
    list[ExpressionText], BeforeValidator(_one_or_many), Field(min_length=1, max_length=3)
]
ParameterValue = Annotated[Any, AfterValidator(_value)]
Backends = Annotated[list[Annotated[str, AfterValidator(_backend)]], Field(min_length=1)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Table(BaseModel):
    """A table of ``target.toml``: no key that is not declared, no value of another type."""

    model_config = ConfigDict(strict=True, extra="forbid")

    @classmethod
    def keys(cls) -> list[str]:
        """All keys that there are."""
        return list(cls.model_fields)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            known = cls.keys()
            for key in data:
                if key not in known:
                    raise PydanticCustomError(
                        "target",
                        "{what}",
                        {
                            "what": "there is no such key",
                            "hint": did_you_mean(key, known),
                            "key": key,
                        },
                    )
        return data


class TargetTable(Table):
    """``[target]``"""

    name: Text
    description: str = ""
    source: Text
    headers: list[Text] = []
    kernels: Annotated[list[Text], Field(min_length=1)]
    data: Text = "data.py"


class BuildTable(Table):
    """``[build]``. Under the name of a back end are options of its compiler."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, list[str]] = Field(init=False)

    include: list[str] = []
    define: dict[Name, Annotated[str, BeforeValidator(_expression_text)]] = {}
    standard: Annotated[str, Field(pattern=r"^(c|gnu)\+\+\d[\da-z]$")] = "c++17"

    @classmethod
    def keys(cls) -> list[str]:
        """Those of the table itself, then the back ends."""
        return [*super().keys(), *BACKENDS]


class ParameterTable(Table):
    """``[[parameter]]``"""

    name: Name
    kind: Literal["macro", "flag", "option"] = "macro"
    values: Annotated[list[ParameterValue] | None, BeforeValidator(_range)] = None
    default: Annotated[ParameterValue, BeforeValidator(_truth)]
    text: str = ""
    help: str = ""
    backends: Backends = list(BACKENDS)

    @model_validator(mode="after")
    def _consistent(self) -> ParameterTable:
        switch = self.kind == "flag" or (self.kind == "option" and "{}" not in self.text)
        if self.name in ("defined", "true", "false"):
            raise mistake(f"a parameter cannot be called {self.name!r}")
        if self.kind == "option" and not self.text:
            raise mistake("an option needs its text", 'For example text = "-maxrregcount={}".')
        if self.kind != "option" and self.text:
            raise mistake("only an option has a text", 'Say kind = "option" or leave it out.')
        if switch and self.values is not None:
            raise mistake("this is either on or off and has no values", "Leave `values` out.")
        if not switch and not self.values:
            raise mistake("its values are missing", "For example values = [32, 64, 128].")
        values = self.values or [0, 1]
        for index, value in enumerate(values):
            if value in values[:index]:
                raise mistake(f"the value {value!r} is there twice")
        if self.default not in values:
            shown = ", ".join(map(repr, values[:12])) + (", ..." if len(values) > 12 else "")
            raise mistake(
                f"the default {self.default!r} is not among the values",
                f"They are {shown}; the default is what the source has now.",
            )
        return self


class ConstraintTable(Table):
    """``[[constraint]]``"""

    that: ExpressionText
    why: str = ""


class BufferTable(Table):
    """``[[buffer]]``"""

    name: Name
    type: TypeName
    role: Literal["input", "output", "inout", "scratch"]
    size: ExpressionText | None = None
    symbol: Text | None = None


_VECTOR = re.compile(r"(u?(?:char|short|int|long|longlong)|float|double|half)([1-4])")


def _texture_type(text: str) -> str:
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


class TextureTable(Table):
    """``[[texture]]``"""

    name: Name
    buffer: Name
    type: Annotated[str, AfterValidator(_texture_type)] | None = None
    components: Annotated[int, AfterValidator(_components)] = 1
    read: Literal["element", "normalized_float"] = "element"


class ScalarTable(Table):
    """``[[scalar]]``"""

    name: Name
    type: TypeName
    value: ExpressionText | None = None
    redraw: bool = False

    @model_validator(mode="after")
    def _can_be_redrawn(self) -> ScalarTable:
        if self.redraw and self.value is not None:
            raise mistake(
                "a scalar with a value cannot be redrawn", "Leave `value` out: the case gives it."
            )
        if self.redraw and "int" not in self.type:
            raise mistake(f"a {self.type} cannot be redrawn", "Only an integer goes up by one.")
        return self


class KernelTable(Table):
    """``[[launch.step]]``: one kernel of a group."""

    kernel: Text
    grid: Triple
    block: Triple
    shared: ExpressionText = "0"
    args: list[Name] = []


class LaunchTable(Table):
    """``[[launch]]``: one kernel, or a group of them; perhaps repeated."""

    kernel: Text | None = None
    grid: Triple | None = None
    block: Triple | None = None
    shared: ExpressionText | None = None
    args: list[Name] | None = None
    step: Annotated[list[KernelTable], Field(min_length=1)] | None = None
    repeat: ExpressionText = "1"
    swap: list[Annotated[list[Name], Field(min_length=2, max_length=2)]] = []
    counter: Name | None = None

    @model_validator(mode="after")
    def _one_or_group(self) -> LaunchTable:
        own = [key for key in KernelTable.model_fields if getattr(self, key) is not None]
        if self.step is not None and own:
            raise mistake(
                f"a group of steps has no {own[0]!r} of its own", "Put it into [[launch.step]]."
            )
        if self.step is None:
            for key in ("kernel", "grid", "block"):
                if key not in own:
                    raise PydanticCustomError(
                        "target", "{what}", {"what": "the key is missing", "key": key}
                    )
        return self

    def kernels(self) -> list[KernelTable]:
        """The steps; a single launch is one step."""
        if self.step is not None:
            return self.step
        own = {key: getattr(self, key) for key in KernelTable.model_fields}
        return [KernelTable(**{key: value for key, value in own.items() if value is not None})]


class ExactTable(Table):
    """``[oracle]`` of kind ``exact``"""

    kind: Literal["exact"]
    buffers: list[str] = []


class ToleranceTable(Table):
    """``[oracle]`` of kind ``tolerance``"""

    kind: Literal["tolerance"]
    absolute: NotNegative = 0.0
    relative: NotNegative = 0.0
    buffers: list[str] = []


class SigmaTable(Table):
    """``[oracle]`` of kind ``sigma``"""

    kind: Literal["sigma"]
    k: NotNegative = 3.0
    runs: Annotated[int, Field(ge=2)] = 10
    absolute: NotNegative = 0.0
    outside: Annotated[float, Field(ge=0, lt=1)] = 0.0
    buffers: list[str] = []


class PythonTable(Table):
    """``[oracle]`` of kind ``python``"""

    kind: Literal["python"]
    function: Annotated[str, Field(pattern=r"^.+\.py:[A-Za-z_]\w*$")]
    runs: Annotated[int, Field(ge=1)] = 1
    uses: list[Name] = []


ORACLES = ("exact", "tolerance", "sigma", "python")


def _oracle_kind(data: Any) -> Any:
    kind = data.get("kind") if isinstance(data, dict) else None
    if isinstance(kind, str) and kind in ORACLES:
        return data
    what = "the key is missing" if kind is None else f"there is no oracle of kind {kind!r}"
    hint = did_you_mean(str(kind), ORACLES) if kind else f"One of {', '.join(ORACLES)}."
    raise PydanticCustomError("target", "{what}", {"what": what, "hint": hint, "key": "kind"})


OracleTable = Annotated[
    ExactTable | ToleranceTable | SigmaTable | PythonTable,
    Field(discriminator="kind"),
    BeforeValidator(_oracle_kind),
]


class CaseTable(Table):
    """``[[case]]``"""

    name: Text
    role: Literal["train", "held-out"]
    args: dict[str, Any] = {}
    backends: Backends = list(BACKENDS)


class TimingTable(Table):
    """``[timing]``"""

    cache: Literal["warm", "flushed"] = "warm"


class TargetFile(Table):
    """All of ``target.toml``."""

    target: TargetTable
    build: BuildTable = Field(default_factory=BuildTable)
    parameter: list[ParameterTable] = []
    constraint: list[ConstraintTable] = []
    buffer: Annotated[list[BufferTable], Field(min_length=1)]
    texture: list[TextureTable] = []
    scalar: list[ScalarTable] = []
    launch: Annotated[list[LaunchTable], Field(min_length=1)]
    oracle: Annotated[list[OracleTable], BeforeValidator(_one_or_many), Field(min_length=1)]
    case: Annotated[list[CaseTable], Field(min_length=1)]
    timing: TimingTable = Field(default_factory=TimingTable)
