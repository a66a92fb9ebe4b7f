"""The values a target is made of, as ``target.toml`` describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from gi_cuda.spec.expression import Expression, ExpressionError
from gi_cuda.spec.oracle import Oracle

Value = int | float | str
"""One value of a parameter."""

Configuration = Mapping[str, Value]
"""A value for every parameter of a target."""

BACKENDS = ("host", "cuda")
"""The names of all back ends; the first is the default. Each has a folder of its name in
:mod:`gi_cuda.backends`."""


class ParameterKind(StrEnum):
    """What a parameter is to the compiler."""

    MACRO = "macro"
    """A macro that is always defined, to the value."""
    FLAG = "flag"
    """A macro that is defined (1) or not (0)."""
    OPTION = "option"
    """An option on the compiler's command line."""


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
    """What a case is for: fitness, or validation only."""

    TRAIN = "train"
    HELD_OUT = "held-out"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One dimension of the configuration space.

    Attributes:
        values: all it may take, in the order written; for a flag 0 and 1.
        default: the one of `values` that makes the reference.
        text: for an option, what goes on the command line, with ``{}`` for the value. Without
            ``{}`` the option is there for the value 1 and absent for 0.
        backends: those whose compiler understands it; on others it stays at its default.
        line: where ``target.toml`` declares it.
    """

    name: str
    kind: ParameterKind
    values: tuple[Value, ...]
    default: Value
    text: str = ""
    help: str = ""
    backends: tuple[str, ...] = BACKENDS
    line: int = 0


@dataclass(frozen=True, slots=True)
class Constraint:
    """What must hold between parameters: `that` is not zero."""

    that: Expression
    why: str = ""
    line: int = 0

    def allows(self, configuration: Configuration) -> bool:
        """Whether it holds; a configuration for which it has no value is not allowed."""
        try:
            return self.that.evaluate(configuration) != 0  # type: ignore[arg-type]
        except ExpressionError:
            return False


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array in device memory.

    Attributes:
        dtype: type of one element.
        size: number of elements, from parameters (scratch only) and scalars; None for an input
            that is as long as the case makes it.
        symbol: name of the ``__constant__`` or ``__device__`` variable that it is, or None where
            a kernel gets it as a pointer argument.
    """

    name: str
    dtype: np.dtype[Any]
    role: BufferRole
    size: Expression | None = None
    symbol: str | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class Texture:
    """A one-dimensional texture object: an input buffer as ``tex1Dfetch`` reads it.

    Attributes:
        buffer: name of the buffer, an input that kernels can be passed.
        dtype: type of one component of a texel; its size is one of the texel's parts.
        components: of a texel, 1, 2 or 4.
        normalized: whether integers are read as floats, from 0 to 1 or, signed, from -1 to 1.
    """

    name: str
    buffer: str
    dtype: np.dtype[Any]
    components: int = 1
    normalized: bool = False
    line: int = 0

    @property
    def texel_bytes(self) -> int:
        """Size of one texel."""
        return self.dtype.itemsize * self.components


@dataclass(frozen=True, slots=True)
class Scalar:
    """A value passed to kernels by value, and known to launch expressions if it is an integer.

    Attributes:
        value: how to compute it from parameters and the scalars before it; None where the case
            gives it.
        redraw: whether it goes up by one from run to run, as a seed does; an integer that the
            case gives and no expression uses.
    """

    name: str
    dtype: np.dtype[Any]
    value: Expression | None = None
    redraw: bool = False
    line: int = 0


@dataclass(frozen=True, slots=True)
class KernelStep:
    """One kernel launch, with geometry still to be computed.

    Attributes:
        grid, block: one to three expressions each, x first.
        shared: bytes of dynamic shared memory.
        args: names of buffers, textures, scalars and counters, in the kernel's order.
    """

    kernel: str
    grid: tuple[Expression, ...]
    block: tuple[Expression, ...]
    shared: Expression
    args: tuple[str, ...]
    line: int = 0


@dataclass(frozen=True, slots=True)
class LaunchSequence:
    """Kernel launches in order, the whole repeated.

    Attributes:
        repeat: how often.
        swap: pairs of buffers that change names after each round, as ``std::swap`` of two
            pointers in host code would.
        counter: name under which expressions and arguments see the number of the round (from 0,
            an int32), or None.
    """

    steps: tuple[KernelStep, ...]
    repeat: Expression
    swap: tuple[tuple[str, str], ...] = ()
    counter: str | None = None
    line: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """One set of inputs: how the data module is called for it.

    Attributes:
        args: keyword arguments of the data module's ``case``.
        backends: where it is used.
    """

    name: str
    role: CaseRole
    args: Mapping[str, Any]
    backends: tuple[str, ...] = BACKENDS
    line: int = 0


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """How the source is compiled.

    Attributes:
        include: folders searched for headers, absolute.
        define: macros with fixed values.
        standard: C++ standard, e.g. ``c++17``.
        options: further compiler options for each backend.
    """

    include: tuple[Path, ...] = ()
    define: Mapping[str, str] = field(default_factory=dict)
    standard: str = "c++17"
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Timing:
    """How launches are timed: with the second-level cache ``warm`` or ``flushed``."""

    cache: str = "warm"


@dataclass(frozen=True, slots=True)
class Target:
    """What to evolve, how to launch it, its inputs and its oracle.

    Attributes:
        folder: holds ``target.toml``; relative paths start from there.
        file: ``target.toml`` as the user named it, for messages.
        source, data: the CUDA source, and the Python module that makes the cases.
        headers: files that the source includes and that evolve with it.
        kernels: the ``__global__`` functions that launches use.
        launches: executed in order; together they are what is verified and timed.
        extras: what the data module returns beside buffers and scalars, for the oracle alone.
    """

    name: str
    description: str
    folder: Path
    file: Path
    source: Path
    data: Path
    kernels: tuple[str, ...]
    build: BuildOptions
    parameters: tuple[Parameter, ...]
    constraints: tuple[Constraint, ...]
    buffers: tuple[Buffer, ...]
    scalars: tuple[Scalar, ...]
    launches: tuple[LaunchSequence, ...]
    oracle: Oracle
    cases: tuple[Case, ...]
    timing: Timing
    headers: tuple[Path, ...] = ()
    extras: tuple[str, ...] = ()
    textures: tuple[Texture, ...] = ()


MARK = "FILL IN"
"""Stands wherever the user knows more than the source says."""
