"""Express observed numbers, such as sizes, by the scalar arguments of a kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from math import prod

from gi_cuda.init.kernel.sizes import bracketed
from gi_cuda.spec.expression import ExpressionError, parse

_FACTORS = 3
"""Largest number of scalars in a product."""

_PER_THREAD = (1, 2, 4, 8, 16, 32)
_MOST_SCALARS = 12
_LARGEST_FACTOR = 4096
_LARGEST_SUMMAND = 64

Names = Mapping[str, int]


def agrees(text: str, values: Sequence[int], names: Sequence[Names]) -> bool:
    """Tell whether an expression has the observed value in each case.

    Args:
        text: the expression.
        values: the observed value in each case.
        names: values of the names that the expression may use, in each case.
    """
    try:
        expression = parse(text)
        return all(
            expression.evaluate(known) == value for value, known in zip(values, names, strict=True)
        )
    except ExpressionError:
        return False


def size_of(values: Sequence[int], names: Sequence[Names]) -> str | None:
    """Find an expression for observed sizes.

    The expression is a product of scalars, a multiple of a product, a product plus a small number,
    or the number itself if it is the same in all cases: ``n * m``, ``n * 4``, ``n + 1``, ``1024``.

    Args:
        values: the observed size in each case.
        names: the scalars in each case.

    Returns:
        The expression; None if none fits.
    """
    for text in _sizes(values, names):
        if agrees(text, values, names):
            return text
    return _always(values)


def blocks_of(
    values: Sequence[int], names: Sequence[Names], threads: str, known: Sequence[Names]
) -> str | None:
    """Find an expression for observed numbers of blocks along an axis of the grid.

    The expression divides a product of scalars by the threads of a block, is such a product, or is
    the number itself if it is the same in all cases: ``(n + 256 - 1) / 256``.

    Args:
        values: the observed number in each case.
        names: the scalars in each case.
        threads: expression for the threads of a block along the axis.
        known: scalars and parameters that `threads` may use, in each case.

    Returns:
        The expression; None if none fits.
    """
    if set(values) == {1}:
        return "1"
    for many, _ in _products(names):
        for each in _PER_THREAD if threads != "1" else ():
            by = bracketed(threads) if each == 1 else f"({bracketed(threads)} * {each})"
            for text in (f"({many} + {by} - 1) / {by}", f"{many} / {by}"):
                if agrees(text, values, known):
                    return text
    for many, _ in _products(names):
        if agrees(many, values, names):
            return many
    return _always(values)


def _always(values: Sequence[int]) -> str | None:
    return str(values[0]) if len(set(values)) == 1 else None


def _sizes(values: Sequence[int], names: Sequence[Names]) -> Iterator[str]:
    products = list(_products(names))
    yield from (text for text, _ in products)
    for text, found in products:
        factor, rest = divmod(values[0], found) if found else (0, 1)
        if not rest and 1 < factor <= _LARGEST_FACTOR:
            yield f"{text} * {factor}"
    for text, found in products:
        if 0 < values[0] - found <= _LARGEST_SUMMAND:
            yield f"{text} + {values[0] - found}"


def _products(names: Sequence[Names]) -> Iterator[tuple[str, int]]:
    """Yield products of scalars and their values in the first case.

    Shorter products come first; among equally long ones, products of different scalars come before
    squares.
    """
    first = {name: value for name, value in names[0].items() if value > 1}
    for count in range(1, _FACTORS + 1):
        every = combinations_with_replacement(list(first)[:_MOST_SCALARS], count)
        for chosen in sorted(every, key=lambda names: -len(set(names))):
            yield " * ".join(chosen), prod(first[name] for name in chosen)
