"""The launch plan: all kernel launches for one configuration and one case."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from gi_cuda.errors import UserError
from gi_cuda.spec.case_data.cases import CaseData, typed_scalar
from gi_cuda.spec.expression import Expression, ExpressionError
from gi_cuda.spec.launching.images import Surface, Texture, View
from gi_cuda.spec.launching.passed import Struct
from gi_cuda.spec.launching.shape import InexactLaunch, shaped
from gi_cuda.spec.parameters import Configuration
from gi_cuda.spec.target import KernelStep, LaunchSequence, Scalar, Target


@dataclass(frozen=True, slots=True)
class Redrawn:
    """A scalar that changes from run to run: the case's value plus the number of the draw.

    Attributes:
        first: the case's value, an integer of its C type.
    """

    first: np.generic

    def at(self, draw: int) -> np.generic:
        """Return the value in one draw; it wraps from the largest of its type to the smallest."""
        span = 2 ** (8 * self.first.itemsize)
        least = 0 if self.first.dtype.kind == "u" else -span // 2
        value = (self.first.item() - least + draw) % span + least
        typed: np.generic = self.first.dtype.type(value)
        return typed


@dataclass(frozen=True, slots=True)
class Packed:
    """A struct argument that is passed by value.

    Attributes:
        size, align: size and alignment, bytes.
        members: offset in bytes and value of each member; all other bytes are zero.
    """

    size: int
    align: int
    members: tuple[tuple[int, Argument], ...]

    def at(self, draw: int) -> Packed:
        """Return the struct with the values of one draw."""
        return replace(self, members=tuple((at, _at(one, draw)) for at, one in self.members))

    def bytes(self, value: Callable[[Argument], bytes]) -> bytes:
        """Return the bytes of the struct.

        Args:
            value: returns the bytes of a member's value.
        """
        whole = bytearray(self.size)
        for at, one in self.members:
            own = value(one)
            whole[at : at + len(own)] = own
        return bytes(whole)


Argument = str | View | np.generic | Redrawn | Packed
"""A kernel argument: name of the buffer whose storage it points into, a texture or surface, a value
of its C type, or a struct."""


def _at(argument: Argument, draw: int) -> Argument:
    return argument.at(draw) if isinstance(argument, Redrawn | Packed) else argument


def _redrawn(argument: Argument) -> bool:
    if isinstance(argument, Packed):
        return any(_redrawn(one) for _, one in argument.members)
    return isinstance(argument, Redrawn)


_GRID_LIMITS = (2**31 - 1, 65535, 65535)
_BLOCK_LIMITS = (1024, 1024, 64)
_BLOCK_THREADS = 1024
_MOST_LAUNCHES = 1_000_000
_MOST_TEXELS = 2**31 - 1
"""Largest number of texels of one dimension; coordinates are 32-bit integers."""


class LaunchError(UserError):
    """An error: there is no valid launch for a configuration and a case.

    For a variant this is one more way to fail; for the reference it is the user's mistake.
    """


@dataclass(frozen=True, slots=True)
class Launch:
    """One kernel launch with all values computed.

    Attributes:
        kernel: name of the kernel.
        grid, block: numbers of blocks and of threads along x, y, z.
        shared: dynamic shared memory, bytes.
        args: arguments in the kernel's order.
        cooperative: whether the launch is cooperative: all blocks must run at the same time.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    args: tuple[Argument, ...]
    cooperative: bool = False

    @property
    def views(self) -> Iterator[View]:
        """Textures and surfaces among the arguments, including those in structs."""
        for argument in self.args:
            inner = [one for _, one in argument.members] if isinstance(argument, Packed) else []
            yield from (one for one in (argument, *inner) if isinstance(one, View))

    @property
    def redrawn(self) -> bool:
        """Tell whether an argument differs from draw to draw."""
        return any(map(_redrawn, self.args))

    def at(self, draw: int) -> Launch:
        """Return the launch with the values of one draw."""
        if not self.redrawn:
            return self
        return replace(self, args=tuple(_at(argument, draw) for argument in self.args))


Changes: TypeAlias = Mapping[str, Callable[[np.generic], np.generic]]
"""Functions that change the values of scalars, by name of the scalar."""


def plan(
    target: Target,
    configuration: Configuration,
    case_scalars: Mapping[str, np.generic],
    instead: Changes = MappingProxyType({}),
) -> tuple[Launch, ...]:
    """Return all launches in order, with repetitions and swaps resolved.

    Args:
        target: the target.
        configuration: a value for every parameter.
        case_scalars: `CaseData.scalars`.
        instead: changes to the scalars that kernels get as arguments. Launch geometry is computed
            from the unchanged scalars.

    Raises:
        LaunchError: an expression has no value, or the geometry exceeds CUDA's limits.
    """
    planner = _Planner(target, configuration, case_scalars, instead)
    return tuple(launch for sequence in target.launches for launch in planner.run(sequence))


def final_storage(
    target: Target, configuration: Configuration, case_scalars: Mapping[str, np.generic]
) -> dict[str, str]:
    """Map each buffer to the buffer whose storage holds its contents after all launches.

    The two differ if buffers were swapped an odd number of times.
    """
    planner = _Planner(target, configuration, case_scalars)
    for sequence in target.launches:
        for _ in range(planner.rounds(sequence) if sequence.swap else 0):
            planner.swap(sequence)
    return planner.storage


def buffer_sizes(target: Target, configuration: Configuration, case: CaseData) -> dict[str, int]:
    """Return the number of elements of every buffer.

    Raises:
        LaunchError: a size has no value or is not positive, or a texture or surface is larger than
            its buffer.
    """
    planner = _Planner(target, configuration, case.scalars)
    sizes: dict[str, int] = {}
    for buffer in target.buffers:
        if buffer.name in case.buffers:
            sizes[buffer.name] = case.buffers[buffer.name].size
            continue
        assert buffer.size is not None, "only given buffers may be without a size"
        size = planner.value(buffer.size, buffer.line)
        if size < 1:
            raise planner.error(
                f"the buffer {buffer.name!r} has {size} elements", buffer.line, buffer.size
            )
        sizes[buffer.name] = size
    items = {buffer.name: buffer.dtype.itemsize for buffer in target.buffers}
    for image in target.images:
        view, room = planner.view(image), sizes[image.buffer] * items[image.buffer]
        if view.bytes > room:
            raise planner.error(
                f"{image.name!r} has texels of {view.bytes} bytes in all, and the buffer"
                f" {image.buffer!r} {room} bytes",
                image.line,
                *image.size,
            )
    return sizes


def buffer_begins(
    target: Target, configuration: Configuration, case: CaseData, sizes: Mapping[str, int]
) -> dict[str, int]:
    """Return the element that a kernel's pointer points to, for each buffer with ``begin``.

    For other buffers, pointers point to the first element.

    Args:
        target, configuration, case: see :func:`buffer_sizes`.
        sizes: number of elements of each buffer.

    Raises:
        LaunchError: a ``begin`` has no value, or is outside of its buffer.
    """
    planner = _Planner(target, configuration, case.scalars)
    begins: dict[str, int] = {}
    for buffer in target.buffers:
        if buffer.begin is None:
            continue
        begin = planner.value(buffer.begin, buffer.line)
        if not 0 <= begin < sizes[buffer.name]:
            raise planner.error(
                f"the buffer {buffer.name!r} has no element {begin}", buffer.line, buffer.begin
            )
        begins[buffer.name] = begin
    return begins


_Extent = tuple[int, int, int]
_Geometry = tuple[_Extent, _Extent, int]


class _Planner:
    """An evaluator of a target's expressions for one configuration and one case."""

    def __init__(
        self,
        target: Target,
        configuration: Configuration,
        scalars: Mapping[str, np.generic],
        instead: Changes = MappingProxyType({}),
    ) -> None:
        self._target = target
        self._configuration = configuration
        self._instead = instead
        self._names: dict[str, int] = {
            name: value for name, value in configuration.items() if isinstance(value, int)
        }
        self._arguments: dict[str, View | np.generic | Redrawn] = {}
        self._structs: dict[str, Struct] = {struct.name: struct for struct in target.structs}
        self.storage = {buffer.name: buffer.name for buffer in target.buffers}
        for scalar in target.scalars:
            if scalar.value is None:
                typed = scalars[scalar.name]
            else:
                typed = self._computed(scalar, scalar.value)
            if scalar.redraw:
                self._arguments[scalar.name] = Redrawn(typed)
            else:
                self._define(scalar.name, typed)
        for image in target.images:
            self._arguments[image.name] = self.view(image)

    def view(self, image: Texture | Surface) -> View:
        """Return a texture or surface with its size. Its buffer is never swapped."""
        extent = tuple(self.value(one, image.line) for one in image.size)
        layers = 0 if image.layers is None else self.value(image.layers, image.line)
        wrong = not all(1 <= count <= _MOST_TEXELS for count in extent)
        if wrong or (image.layers is not None and layers < 1):
            shown = " x ".join(map(str, (*extent, *([layers] if image.layers else []))))
            raise self.error(f"{image.name!r} has {shown} texels", image.line, *image.size)
        return View(image, image.buffer, extent, layers)

    def _computed(self, scalar: Scalar, expression: Expression) -> np.generic:
        value = self.value(expression, scalar.line)
        try:
            return typed_scalar(scalar, value, f"{self._target.file}:{scalar.line}")
        except UserError as error:
            raise LaunchError(error.what, where=error.where, hint=error.hint) from None

    def _define(self, name: str, value: np.generic) -> None:
        self._arguments[name] = value
        if value.dtype.kind in "iu":
            self._names[name] = int(value)

    def run(self, sequence: LaunchSequence) -> Iterator[Launch]:
        """Yield the sequence's launches, and update `storage` by its swaps."""
        counter = sequence.counter
        fixed: dict[int, _Geometry] = {}
        for number in range(self.rounds(sequence)):
            if counter is not None:
                self._define(counter, np.int32(number))
            for index, step in enumerate(sequence.steps):
                geometry = fixed.get(index) or self._geometry(step)
                if counter is None or not _mentions(step, counter):
                    fixed[index] = geometry
                arguments = tuple(map(self._argument, step.args))
                yield Launch(step.kernel, *geometry, arguments, step.cooperative)
            self.swap(sequence)

    def rounds(self, sequence: LaunchSequence) -> int:
        """Return the number of repetitions of the sequence."""
        rounds = self.value(sequence.repeat, sequence.line)
        if not 0 <= rounds * len(sequence.steps) <= _MOST_LAUNCHES:
            raise self.error(f"{rounds} repetitions", sequence.line, sequence.repeat)
        return rounds

    def swap(self, sequence: LaunchSequence) -> None:
        """Swap the storage of the sequence's pairs of buffers, in order."""
        for a, b in sequence.swap:
            self.storage[a], self.storage[b] = self.storage[b], self.storage[a]

    def value(self, expression: Expression, line: int) -> int:
        try:
            return expression.evaluate(self._names)
        except ExpressionError as error:
            raise LaunchError(
                error.what, where=f"{self._target.file}:{line}", hint=error.hint
            ) from None

    def error(self, what: str, line: int, *expressions: Expression) -> LaunchError:
        used = sorted(frozenset[str]().union(*(e.names for e in expressions)))
        values = ", ".join(f"{name} = {self._names[name]}" for name in used)
        return LaunchError(
            what,
            where=f"{self._target.file}:{line}",
            hint=f"It comes from {' x '.join(f'`{e.text}`' for e in expressions)}"
            + (f" with {values}" if values else "")
            + ": change that, or the sizes in [[case]].",
        )

    def _geometry(self, step: KernelStep) -> _Geometry:
        grid = self._extent(step, "grid", step.grid, _GRID_LIMITS)
        block = self._extent(step, "block", step.block, _BLOCK_LIMITS)
        try:
            grid, block = shaped(step.kernel, grid, block, self._configuration)
        except InexactLaunch as error:
            raise self.error(f"{step.kernel}: {error}", step.line, *step.block) from None
        if any(count > most for count, most in zip(grid, _GRID_LIMITS, strict=True)):
            blocks = " x ".join(map(str, grid))
            raise self.error(f"{step.kernel}: a grid of {blocks}", step.line, *step.grid)
        if math.prod(block) > _BLOCK_THREADS:
            many = math.prod(block)
            what = f"{step.kernel}: a block of {many} threads, and at most {_BLOCK_THREADS} can be"
            raise self.error(what, step.line, *step.block)
        shared = self.value(step.shared, step.line)
        if shared < 0:
            raise self.error(f"{shared} bytes of shared memory", step.line, step.shared)
        return grid, block, shared

    def _argument(self, name: str) -> Argument:
        if name in self.storage:
            return self.storage[name]
        if name not in self._structs:
            value = self._arguments[name]
            if name in self._instead and isinstance(value, np.generic):
                return self._instead[name](value)
            return value
        one = self._structs[name]
        members = ((at, self._argument(member)) for member, at in one.members.items())
        return Packed(one.size, one.align, tuple(members))

    def _extent(
        self,
        step: KernelStep,
        what: str,
        expressions: tuple[Expression, ...],
        limits: tuple[int, ...],
    ) -> _Extent:
        values = [self.value(expression, step.line) for expression in expressions]
        values += [1] * (3 - len(values))
        for value, limit in zip(values, limits, strict=True):
            if not 1 <= value <= limit:
                shown = " x ".join(map(str, values))
                most = " x ".join(map(str, limits))
                said = f"{step.kernel}: a {what} of {shown}, and it can be 1 x 1 x 1 to {most}"
                raise self.error(said, step.line, *expressions)
        return values[0], values[1], values[2]


def _mentions(step: KernelStep, name: str) -> bool:
    """Tell whether the geometry of `step` depends on `name`."""
    return any(name in part.names for part in (*step.grid, *step.block, step.shared))
