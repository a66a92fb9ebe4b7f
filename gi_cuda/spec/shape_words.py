"""The shape of a launch in words, for people who change the launch by hand."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from gi_cuda.spec.launches import Shape

_AXES = ("x", "y", "z")


def launch_words(kernel: str, shape: Mapping[str, int]) -> str:
    """Say how to launch a kernel.

    Args:
        kernel: its name, without namespaces.
        shape: how launches change, by the keys of :class:`~gi_cuda.spec.launches.Shape`: of
            ``{"k.threads.x": 128, "k.items.x": 4}`` it is said "launch k with grid.x =
            ceil(old grid.x * old block.x / 512) and blocks of 128 threads".
    """
    shapes = {axis: Shape.of(kernel, axis, shape) for axis in _AXES}
    changed = {axis: one for axis, one in shapes.items() if one != Shape()}
    words = [f"grid.{axis} = {_blocks(axis, one)}" for axis, one in changed.items()]
    threads = {axis: one.threads for axis, one in changed.items() if one.threads}
    if threads:
        along = "" if tuple(threads) == _AXES[: len(threads)] else f" along {' and '.join(threads)}"
        words.append(f"blocks of {' x '.join(map(str, threads.values()))} threads{along}")
    *first, last = words
    return (
        f"launch {kernel} with {', '.join(first)} and {last}"
        if first
        else (f"launch {kernel} with {last}")
    )


def _blocks(axis: str, shape: Shape) -> str:
    """Return the formula for the new number of blocks along an axis."""
    ratio = Fraction(shape.times, shape.items)
    factors = [f"old grid.{axis}"]
    factor, divisor = ratio.numerator, ratio.denominator
    if shape.threads:
        factors.append(f"old block.{axis}")
        factor, divisor = shape.times, shape.threads * shape.items
    product = " * ".join([*factors, *([str(factor)] if factor > 1 else [])])
    return product if divisor == 1 else f"ceil({product} / {divisor})"
