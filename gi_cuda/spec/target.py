"""The target and its parts, one class for each table of ``target.toml``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from gi_cuda import BACKENDS
from gi_cuda.spec.application import Application
from gi_cuda.spec.expression import parse
from gi_cuda.spec.launching.images import Surface, Texture
from gi_cuda.spec.launching.passed import Struct
from gi_cuda.spec.oracles import Oracle
from gi_cuda.spec.parameters import Constraint, Parameter, Value
from gi_cuda.spec.toml_file.table import Table, mistake, own_keys, renamed

if TYPE_CHECKING:
    from gi_cuda.spec.toml_file import key_types as key


class BufferRole(StrEnum):
    """The use of a buffer: whether the case sets it before a launch, and the oracle judges it."""

    INPUT = "input"
    """Holds the case's values; a variant that writes to it is wrong."""
    OUTPUT = "output"
    """Poisoned before the launch, judged after it."""
    INOUT = "inout"
    """Holds the case's values before each launch, judged after it."""
    SCRATCH = "scratch"
    """Poisoned before the launch, never judged."""

    @property
    def given(self) -> bool:
        """Tell whether the case gives the contents before a launch."""
        return self in (BufferRole.INPUT, BufferRole.INOUT)

    @property
    def judged(self) -> bool:
        """Tell whether the oracle judges the contents after a launch."""
        return self in (BufferRole.OUTPUT, BufferRole.INOUT)


class CaseRole(StrEnum):
    """Purpose of a case: fitness (train), validation (held-out), or confirming a minimization."""

    TRAIN = "train"
    HELD_OUT = "held-out"
    CONFIRM = "confirm"


@dataclass(frozen=True, slots=True)
class Buffer(Table):
    """``[[buffer]]``: an array in device memory.

    Attributes:
        name: name of the buffer.
        type: type of one element.
        role: use of the buffer.
        size: number of elements, from parameters (scratch only) and scalars; None: the length of
            the case's array.
        symbol: name of the ``__constant__`` or ``__device__`` variable that the buffer stands for,
            if any.
        begin: number of the element that a kernel's pointer points to; None: the first.
        item: size of an item that holds pointers (see `addresses`), bytes; None: an element.
        addresses: offset in an item, in bytes, of a pointer into another buffer, by name of the
            buffer. The case gives the number of an element in place of the pointer.
        line: line of the table in ``target.toml``.
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
    """``[[scalar]]``: a value that kernels take by value. Expressions may use a single integer.

    Attributes:
        name: name of the scalar.
        dtype: type of the value.
        value: expression that computes it from parameters and earlier scalars; None: the case
            gives it.
        count: number of values; more than 1 for an array.
        redraw: whether it increases by one from run to run, as a seed does. It must be an integer
            that the case gives and no expression uses.
        usual: its value in nearly all launches, for which a kernel may get a specialized version;
            None: unknown.
        line: line of the table in ``target.toml``.
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
    """``[[launch.step]]``: one kernel launch, with expressions for its configuration.

    Attributes:
        kernel: name of the kernel.
        grid, block: one to three expressions each, x first.
        shared: dynamic shared memory, bytes.
        args: names of the kernel's arguments, in its order.
        cooperative: whether the launch is cooperative: blocks wait for each other, so all must run
            at the same time.
        line: line of the table in ``target.toml``.
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
    """``[[launch]]``: a sequence of kernel launches that is repeated as a whole.

    In the file, the keys of a single step may stand in ``[[launch]]`` itself.

    Attributes:
        steps: the kernel launches, in order.
        repeat: number of repetitions.
        swap: pairs of buffers that are swapped after each repetition, like two pointers by
            ``std::swap`` in host code.
        counter: name of the number of the repetition (from 0, an int32) in expressions and
            arguments; None: no name.
        line: line of the table in ``target.toml``.
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
    """``[[case]]``: one set of inputs, given by arguments of the data module.

    Attributes:
        name: name of the case.
        role: purpose of the case.
        args: keyword arguments of the data module's ``case``.
        backends: back ends that use the case.
        timed: whether the times on the case count; its answers always do.
        line: line of the table in ``target.toml``.
    """

    name: key.FileName
    role: CaseRole
    args: dict[str, Any] = field(default_factory=dict)
    backends: key.Backends = BACKENDS
    timed: bool = True
    line: int = 0


@dataclass(frozen=True, slots=True)
class BuildOptions(Table):
    """``[build]``: options for compiling the source.

    Attributes:
        include: folders searched for headers, absolute.
        without: headers whose ``#include`` is left out because nothing of them is needed, spelled
            as in the ``#include``.
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
    """``[timing]``: state of the second-level cache before a timed launch."""

    cache: Literal["warm", "flushed"] = "warm"


@dataclass(frozen=True, kw_only=True)
class Warps(Table):
    """``[warps]``: treatment, by the host back end, of warp functions with a wrong mask.

    A mask is wrong if it excludes the calling thread. CUDA leaves the result undefined.

    Attributes:
        masks: ``checked`` refuses the launch; ``device`` does the same as devices: threads at the
            same place in the code form the group.
    """

    masks: Literal["checked", "device"] = "checked"


@dataclass(frozen=True, kw_only=True)
class Description(Table):
    """``[target]``: the source that evolves and the module that makes its inputs.

    Attributes:
        name, description: name and description of the target.
        source: the CUDA source.
        headers: included files that evolve with the source, or other sources that are linked with
            it.
        kernels: the ``__global__`` functions that launches use.
        data: the Python module that makes the inputs of cases.
        domain: conditions on sizes that the kernels require; derived cases fulfil them.
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
        launches: launches in order; they are verified and timed together.
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
    """A checked target: source, launches, inputs and oracle, with absolute paths.

    Attributes:
        folder: folder of ``target.toml``, the base of relative paths.
        file: path of ``target.toml`` as the user named it, for messages.
    """

    folder: Path
    file: Path

    def passed(self, step: KernelStep) -> Iterator[str]:
        """Yield the names of a launch's arguments, and of the members of struct arguments."""
        members = {struct.name: struct.members for struct in self.structs}
        for name in step.args:
            yield from (name, *members.get(name, ()))


def defaults(target: Target) -> dict[str, Value]:
    """Return the configuration of the reference: the default of each parameter."""
    return {parameter.name: parameter.default for parameter in target.parameters}
