"""The values a target is made of, as ``target.toml`` describes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gi_cuda import BACKENDS
from gi_cuda.spec.application import Application
from gi_cuda.spec.expression import ExpressionError, parse
from gi_cuda.spec.images import Surface, Texture
from gi_cuda.spec.oracles import Oracle
from gi_cuda.spec.passed import Struct
from gi_cuda.spec.table import Table, mistake, own_keys, renamed

if TYPE_CHECKING:
    from gi_cuda.spec import key_types as key

Value = int | float | str
"""One value of a parameter."""

Configuration = Mapping[str, Value]
"""A value for every parameter of a target."""


class ParameterKind(StrEnum):
    """What a parameter is to the compiler."""

    MACRO = "macro"
    """A macro that is always defined, to the value."""
    FLAG = "flag"
    """A macro that is defined (1) or not (0)."""
    OPTION = "option"
    """An option on the compiler's command line."""
    CONSTANT = "constant"
    """A constant that the source declares, ``const int BLOCK = 256;``: its number is replaced. It
    may be one of a host function, or an integer variable."""

    @property
    def preprocessed(self) -> bool:
        """True of macros, which the preprocessor knows."""
        return self in (ParameterKind.MACRO, ParameterKind.FLAG)


class BufferRole(StrEnum):
    """What happens to a buffer around a launch."""

    INPUT = "input"
    """Holds the case's values; a variant that writes to it is wrong."""
    OUTPUT = "output"
    """Poisoned before the launch, judged after it."""
    INOUT = "inout"
    """Holds the case's values before each launch, judged after it."""
    SCRATCH = "scratch"
    """Poisoned before the launch, its contents never looked at."""

    @property
    def given(self) -> bool:
        """Whether the case says what it holds before a launch."""
        return self in (BufferRole.INPUT, BufferRole.INOUT)

    @property
    def judged(self) -> bool:
        """Whether the oracle looks at it after a launch."""
        return self in (BufferRole.OUTPUT, BufferRole.INOUT)


class CaseRole(StrEnum):
    """What a case is for: fitness, validation only, or to confirm what was minimized."""

    TRAIN = "train"
    HELD_OUT = "held-out"
    CONFIRM = "confirm"


@dataclass(frozen=True, slots=True)
class Parameter(Table):
    """``[[parameter]]``: one dimension of the configuration space.

    Attributes:
        kind: a macro, if the file does not say.
        values: all it may take, in the order written; for what is on or off 0 and 1.
        default: the one of `values` that makes the reference.
        text: for an option, what goes on the command line, with ``{}`` for the value. Without
            ``{}`` the option is there for the value 1 and absent for 0.
        backends: those whose compiler understands it; on others it stays at its default.
        line: where ``target.toml`` declares it.
    """

    name: key.Name
    kind: ParameterKind
    values: key.Values
    default: key.Default
    text: str = ""
    help: str = ""
    backends: key.Backends = BACKENDS
    line: int = 0

    @property
    def switch(self) -> bool:
        """Whether it is on or off, and its values are not chosen."""
        option = self.kind is ParameterKind.OPTION
        return self.kind is ParameterKind.FLAG or (option and "{}" not in self.text)

    @classmethod
    def shaped(cls, table: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"kind": ParameterKind.MACRO, "values": (), **table}


@dataclass(frozen=True, slots=True)
class Constraint(Table):
    """``[[constraint]]``: what must hold between parameters; `that` is not zero."""

    that: key.IntExpression
    why: str = ""
    line: int = 0

    def allows(self, configuration: Configuration) -> bool:
        """Whether it holds; a configuration for which it has no value is not allowed."""
        try:
            return self.that.evaluate(configuration) != 0  # type: ignore[arg-type]
        except ExpressionError:
            return False


@dataclass(frozen=True, slots=True)
class Buffer(Table):
    """``[[buffer]]``: an array in device memory.

    Attributes:
        type: of one element.
        size: number of elements, from parameters (scratch only) and scalars; None for an input
            that is as long as the case makes it.
        symbol: name of the ``__constant__`` or ``__device__`` variable that it is, if it is one.
        begin: number of the element that a kernel's pointer points to; None: the first.
        item: bytes of what there is one or more of, for `addresses`; None: those of an element.
        addresses: names of buffers into which items point, and at which byte of an item each
            pointer lies; there the case gives the number of an element.
    """

    name: key.Name
    type: key.NumberKind
    role: BufferRole
    size: key.IntExpression | None = None
    symbol: key.Text | None = None
    begin: key.IntExpression | None = None
    item: key.Count | None = None
    addresses: dict[key.Name, key.Offset] = field(default_factory=dict)
    line: int = 0

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of one element in memory."""
        return self.type.dtype


@dataclass(frozen=True, slots=True)
class Scalar(Table):
    """``[[scalar]]``: a value passed to kernels by value, and known to launch expressions if it is
    one integer.

    Attributes:
        value: how to compute it from parameters and the scalars before it; None where the case
            gives it.
        redraw: whether it goes up by one from run to run, as a seed does; an integer that the
            case gives and no expression uses.
        usual: the integer that it is in nearly all launches, for which a kernel may get a version
            of its own; None where that is not said.
    """

    __pydantic_config__ = renamed(dtype="type")

    name: key.Name
    dtype: key.DType
    value: key.IntExpression | None = None
    count: key.Count = 1
    redraw: key.Flag = False
    usual: key.Integer | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class KernelStep(Table):
    """``[[launch.step]]``: one kernel launch, with geometry still to be computed.

    Attributes:
        grid, block: one to three expressions each, x first.
        shared: bytes of dynamic shared memory.
        args: names of what the kernel gets, in its order.
        cooperative: whether its blocks wait for each other, so that all have to run at a time.
    """

    kernel: key.Text
    grid: key.Geometry
    block: key.Geometry
    shared: key.IntExpression = field(default_factory=lambda: parse("0"))
    args: tuple[key.Name, ...] = ()
    cooperative: key.Flag = False
    line: int = 0


@dataclass(frozen=True, slots=True)
class LaunchSequence(Table):
    """``[[launch]]``: kernel launches in order, the whole repeated. In the file, a sequence
    of one step may have the step's keys itself.

    Attributes:
        repeat: how often.
        swap: pairs of buffers that change names after each round, as ``std::swap`` of two
            pointers in host code would.
        counter: name under which expressions and arguments see the number of the round (from 0,
            an int32), or None.
    """

    __pydantic_config__ = renamed(steps="step")

    steps: key.AtLeastOne[KernelStep]
    repeat: key.IntExpression = field(default_factory=lambda: parse("1"))
    swap: tuple[key.Pair, ...] = ()
    counter: key.Name | None = None
    line: int = 0

    @classmethod
    def known_keys(cls) -> list[str]:
        return [*KernelStep.known_keys(), *own_keys(cls)]

    @classmethod
    def shaped(cls, table: Mapping[str, Any]) -> Mapping[str, Any]:
        step = {key: table[key] for key in KernelStep.known_keys() if key in table}
        if "step" not in table:
            return {**{key: table[key] for key in table if key not in step}, "step": [step]}
        if step:
            raise mistake(
                f"a group of steps has no {next(iter(step))!r} of its own",
                "Put it into [[launch.step]].",
            )
        return table


@dataclass(frozen=True, slots=True)
class Case(Table):
    """``[[case]]``: one set of inputs, and how the data module is called for it.

    Attributes:
        args: keyword arguments of the data module's ``case``.
        backends: where it is used.
        timed: whether what a variant takes counts; its answers always do.
    """

    name: key.FileName
    role: CaseRole
    args: dict[str, Any] = field(default_factory=dict)
    backends: key.Backends = BACKENDS
    timed: bool = True
    line: int = 0


@dataclass(frozen=True, slots=True)
class BuildOptions(Table):
    """``[build]``: how the source is compiled.

    Attributes:
        include: folders searched for headers, absolute.
        without: headers, as includes spell them, that are left out: nothing of them is needed.
        define: macros with fixed values.
        standard: C++ standard, e.g. ``c++17``.
        options: further compiler options, by back end; in the file the back ends are keys.
    """

    include: tuple[key.Folder, ...] = ()
    without: tuple[key.Text, ...] = ()
    define: dict[key.Name, key.ExpressionText] = field(default_factory=dict)
    standard: key.Standard = "c++17"
    options: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def known_keys(cls) -> list[str]:
        return [*(key for key in own_keys(cls) if key != "options"), *BACKENDS]

    @classmethod
    def shaped(cls, table: Mapping[str, Any]) -> Mapping[str, Any]:
        options = {key: table[key] for key in BACKENDS if key in table}
        return {**{key: table[key] for key in table if key not in options}, "options": options}


@dataclass(frozen=True, slots=True)
class Timing(Table):
    """``[timing]``: with what in the second-level cache launches are timed."""

    cache: Literal["warm", "flushed"] = "warm"


@dataclass(frozen=True, kw_only=True)
class Warps(Table):
    """``[warps]``: what the host back end does where the mask of a warp function leaves out the
    thread that calls it; CUDA leaves open what that gives.

    Attributes:
        masks: ``checked`` refuses the launch; ``device`` does what devices do, and takes the
            threads that are at the same place together.
    """

    masks: Literal["checked", "device"] = "checked"


@dataclass(frozen=True, kw_only=True)
class Description(Table):
    """``[target]``: what evolves, and what makes its inputs.

    Attributes:
        source, data: the CUDA source, and the Python module that makes the cases.
        headers: files that the source includes and that evolve with it; or other sources, which
            are linked with it.
        kernels: the ``__global__`` functions that launches use.
        domain: conditions on the sizes for which the kernels are made; cases that are derived from
            the target's own fulfil them.
    """

    name: key.FileName
    description: str = ""
    source: key.File
    headers: tuple[key.File, ...] = ()
    kernels: key.AtLeastOne[key.Text]
    data: key.File = Path("data.py")
    domain: tuple[key.IntExpression, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Tables(Table):
    """The other tables of ``target.toml``.

    Attributes:
        launches: executed in order; together they are what is verified and timed.
    """

    __pydantic_config__ = renamed(
        parameters="parameter",
        constraints="constraint",
        buffers="buffer",
        textures="texture",
        surfaces="surface",
        scalars="scalar",
        structs="struct",
        launches="launch",
        cases="case",
    )

    build: BuildOptions = field(default_factory=BuildOptions)
    parameters: tuple[Parameter, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    buffers: key.AtLeastOne[Buffer]
    textures: tuple[Texture, ...] = ()
    surfaces: tuple[Surface, ...] = ()
    scalars: tuple[Scalar, ...] = ()
    structs: tuple[Struct, ...] = ()
    launches: key.AtLeastOne[LaunchSequence]
    oracle: Oracle
    cases: key.AtLeastOne[Case]
    timing: Timing = field(default_factory=Timing)
    warps: Warps = field(default_factory=Warps)
    application: Application | None = None

    @property
    def images(self) -> tuple[Texture | Surface, ...]:
        """The textures, then the surfaces."""
        return (*self.textures, *self.surfaces)


@dataclass(frozen=True, kw_only=True)
class Target(Description, Tables):
    """What to evolve, how to launch it, its inputs and its oracle; names and files are resolved.

    Attributes:
        folder: holds ``target.toml``; relative paths start from there.
        file: ``target.toml`` as the user named it, for messages.
    """

    folder: Path
    file: Path

    def passed(self, step: KernelStep) -> Iterator[str]:
        """Names of what a launch passes; of a struct also what it is put together of."""
        members = {struct.name: struct.members for struct in self.structs}
        for name in step.args:
            yield from (name, *members.get(name, ()))


def defaults(target: Target) -> dict[str, Value]:
    """The configuration of the reference."""
    return {parameter.name: parameter.default for parameter in target.parameters}
