"""Changes of launch configurations by transformations, and their description in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TypeAlias

from gi_cuda.spec.launching.kernel_names import overload
from gi_cuda.spec.parameters import Configuration

_AXES = ("x", "y", "z")


class InexactLaunch(ValueError):
    """An error: a launch cannot have an exact shape, because its threads would do more work."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A change of a kernel's launch configuration along one axis.

    In a configuration, the fields have the keys ``KERNEL.threads.x``, ``KERNEL.items.x``,
    ``KERNEL.times.x``, ``KERNEL.exact.x`` and ``KERNEL.kept.x``, with the kernel's name without
    namespaces and template arguments.

    Attributes:
        threads: threads of a block; 0: the target's number, or for an exact shape the target's
            number divided by `items`.
        items: number of old blocks whose work a block with the old number of threads does.
        times: number of threads or blocks that share the work of one original thread or block.
        exact: 1 if new blocks must do exactly the work of whole old blocks, because the kernel does
            not compare its index with the size of its data; else 0.
        kept: 1 if the grid does not depend on the threads, because a block does its work with any
            number of threads; else 0.
    """

    threads: int = 0
    items: int = 1
    times: int = 1
    exact: int = 0
    kept: int = 0

    def extents(self, grid: int, block: int) -> tuple[int, int]:
        """Return the new numbers of blocks of the grid and of threads of a block.

        In general, the number of threads is rounded up to whole blocks. For an exact shape, whole
        blocks do the work of each old block: four of 64 threads that of 256. With a kept grid, the
        number of threads must divide the old one, because shared memory is sized for the old one.

        Args:
            grid, block: numbers of blocks and threads in the target.

        Raises:
            InexactLaunch: the shape is exact or the grid is kept, and an old block is not a whole
                number of new blocks.
        """
        if self.kept:
            threads = self.threads or block
            if block % threads:
                raise InexactLaunch(f"{threads} threads of a block are no part of its {block}")
            return -(-grid * self.times // self.items), threads
        if not self.exact:
            threads = self.threads or block
            return -(-grid * block * self.times // (threads * self.items)), threads
        threads = self.threads or max(1, block // self.items)
        blocks, rest = divmod(block, threads * self.items)
        if rest:
            raise InexactLaunch(
                f"the work of {block} threads cannot be that of whole blocks of {threads} threads"
                f" with {self.items} items each"
            )
        return grid * blocks * self.times, threads

    @classmethod
    def of(cls, kernel: str, axis: str, configuration: Configuration) -> Shape:
        """Read the shape of a kernel's launches along an axis from a configuration."""
        name = overload(kernel)[0].partition("<")[0].rpartition("::")[2].strip()
        keys = {one.name: f"{name}.{one.name}.{axis}" for one in fields(cls)}
        found = {field: configuration[key] for field, key in keys.items() if key in configuration}
        return cls(**{field: int(value) for field, value in found.items()})


Extent: TypeAlias = tuple[int, int, int]
"""Blocks of a grid, or threads of a block, along x, y and z."""


def shaped(
    kernel: str, grid: Extent, block: Extent, configuration: Configuration
) -> tuple[Extent, Extent]:
    """Apply the shapes in a configuration to the grid and block of a launch.

    Raises:
        InexactLaunch: see :meth:`Shape.extents`.
    """
    if not any(key.count(".") == 2 for key in configuration):
        return grid, block
    (gx, bx), (gy, by), (gz, bz) = (
        Shape.of(kernel, axis, configuration).extents(blocks, threads)
        for axis, blocks, threads in zip(_AXES, grid, block, strict=True)
    )
    return (gx, gy, gz), (bx, by, bz)


def launch_words(kernel: str, shape: Mapping[str, int]) -> str:
    """Describe in words the changed launch configuration of a kernel.

    Example: ``{"k.threads.x": 128, "k.items.x": 4}`` gives "launch k with grid.x = ceil(old grid.x
    * old block.x / 512) and blocks of 128 threads".

    Args:
        kernel: name of the kernel, without namespaces.
        shape: the shape, by the keys of :class:`Shape`.
    """
    shapes = {axis: Shape.of(kernel, axis, shape) for axis in _AXES}
    changed = {axis: one for axis, one in shapes.items() if one != Shape()}
    words = [
        _extent(axis, one)
        for axis, one in changed.items()
        if not one.kept or one.times != one.items
    ]
    words += ["the same grid"] if not words else []
    threads = {axis: one.threads for axis, one in changed.items() if one.threads}
    if threads:
        along = "" if tuple(threads) == _AXES[: len(threads)] else f" along {' and '.join(threads)}"
        words.append(f"blocks of {' x '.join(map(str, threads.values()))} threads{along}")
    *first, last = words
    only = [
        f"old block.{axis} is a multiple of {(one.threads or 1) * (1 if one.kept else one.items)}"
        for axis, one in changed.items()
        if one.exact or one.kept
    ]
    condition = f", only where {' and '.join(only)}" if only else ""
    return f"launch {kernel} with {', '.join(first)}{' and ' * bool(first)}{last}{condition}"


def _extent(axis: str, shape: Shape) -> str:
    """Return the formula for the new number of blocks along an axis, or of threads in each."""
    if shape.exact and not shape.threads:
        return f"block.{axis} = old block.{axis} / {shape.items}"
    return f"grid.{axis} = {_blocks(axis, shape)}"


def _blocks(axis: str, shape: Shape) -> str:
    """Return the formula for the new number of blocks along an axis."""
    ratio = Fraction(shape.times, shape.items)
    factors = [f"old grid.{axis}"]
    factor, divisor = ratio.numerator, ratio.denominator
    if shape.threads and not shape.kept:
        factors.append(f"old block.{axis}")
        factor, divisor = shape.times, shape.threads * shape.items
    product = " * ".join([*factors, *([str(factor)] if factor > 1 else [])])
    if divisor == 1:
        return product
    return f"{product} / {divisor}" if shape.exact else f"ceil({product} / {divisor})"
