"""Find integer arguments that all launches of a kernel share, from ``target.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from gi_cuda.spec.expression import ExpressionError
from gi_cuda.spec.launching.kernel_names import overload
from gi_cuda.spec.target import Case, Target

MOST_USUAL = 64
"""The largest value that counts as usual without a key ``usual`` in ``target.toml``.

Small numbers are strides, filter sizes and channels, which an application keeps from run to run.
Larger numbers are lengths of data; a kernel that is specialized for them would fit only the cases.
"""

Usual: TypeAlias = tuple[tuple[str, tuple[int | None, ...]], ...]
"""Usual arguments of kernels: each kernel's name, and its arguments in order. None stands for an
argument that is not an integer, or not known."""


def usual_arguments(target: Target) -> Usual:
    """Return the integer arguments that a kernel gets in all launches of all cases.

    The target's code does not run. A scalar is known from its key ``usual``, from the item of its
    name in the ``args`` of all cases, or from its ``value``, computed from known scalars.

    Example: ``conv(in, out, n, stride)`` is launched with ``stride = 2`` in all cases, and with
    another ``n`` in each: ``(("conv", (None, None, None, 2)),)``.
    """
    first, *others = (_known(target, case) for case in target.cases)
    usual = {name: n for name, n in first.items() if all(one.get(name) == n for one in others)}
    named = {scalar.name for scalar in target.scalars if scalar.usual is not None}
    usual = {name: n for name, n in usual.items() if name in named or 0 <= n <= MOST_USUAL}
    found: dict[str, tuple[int | None, ...]] = {}
    for sequence in target.launches:
        for step in sequence.steps:
            name = overload(step.kernel)[0].partition("<")[0].strip().rpartition("::")[2]
            values = tuple(map(usual.get, step.args))
            found[name] = _both(found.get(name, values), values)
    return tuple(one for one in found.items() if any(value is not None for value in one[1]))


def _known(target: Target, case: Case) -> Mapping[str, int]:
    """Return the scalars of a case that are known to be one integer in each of its launches."""
    found: dict[str, int] = {}
    for scalar in target.scalars:
        if scalar.redraw or scalar.count > 1 or scalar.dtype.kind not in "iu":
            continue
        value = case.args.get(scalar.name) if scalar.usual is None else scalar.usual
        if scalar.value is not None:
            try:
                value = scalar.value.evaluate(found)
            except ExpressionError:  # it uses an unknown name, such as a parameter
                continue
        if isinstance(value, int):
            found[scalar.name] = int(value)
    return found


def _both(one: tuple[int | None, ...], other: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """Return the arguments on which two launches of a kernel agree; None for the others."""
    if len(one) != len(other):
        return ()
    return tuple(a if a == b else None for a, b in zip(one, other, strict=True))
