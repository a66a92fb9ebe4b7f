"""Find size expressions that give buffers the items which a trial found to be needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from gi_cuda.init.kernel.sizes import bracketed
from gi_cuda.spec.expression import ExpressionError, parse

_CLOSE = 4
"""Largest ratio of a plausible size to the need."""

_FACTORS = 16

_FEW = 256
"""Largest missing number of items that is added to a size instead of multiplying it."""


@dataclass(frozen=True, slots=True)
class Need:
    """Number of items that a case needs.

    Attributes:
        least: lower bound.
        most: number that is enough, as far as known.
    """

    least: int
    most: int


def enough(
    first: str,
    threads: str | None,
    needs: Mapping[str, Need],
    known: Mapping[str, Mapping[str, int]],
) -> str:
    """Return the simplest expression that satisfies the needs of all cases.

    Args:
        first: the expression that was too small for some cases.
        threads: expression for the number of threads; None if unknown.
        needs: need of each case.
        known: for each case, the values of the names that may be used.
    """

    def fits(text: str) -> bool:
        try:
            values = {case: parse(text).evaluate(known[case]) for case in known}
        except ExpressionError:
            return False
        return all(need.least <= values[case] <= _CLOSE * need.most for case, need in needs.items())

    names = sorted(next(iter(known.values())))
    found = next(filter(fits, _candidates(first, threads, names, needs, known)), None)
    return found or _multiple(first, needs, known)


def _candidates(
    first: str,
    threads: str | None,
    names: Sequence[str],
    needs: Mapping[str, Need],
    known: Mapping[str, Mapping[str, int]],
) -> Iterator[str]:
    yield first
    values = {case: parse(first).evaluate(known[case]) for case in needs}
    more = max(need.least - values[case] for case, need in needs.items())
    if first.isdigit():
        yield str(max(need.least for need in needs.values()))
    elif more <= _FEW:
        yield f"{first} + {more}"
    yield from names
    if threads is not None and not threads.isdigit():
        yield threads
    pairs = list(combinations_with_replacement(names, 2))
    for factor in range(2, _FACTORS + 1):
        yield f"{bracketed(first)} * {factor}"
        if factor == 2:
            yield from (f"{first} + {name}" for name in names if name != first)
            yield from (f"{a} * {b}" for a, b in pairs)
            yield from (f"({a} + 1) * ({b} + 1)" for a, b in pairs)
    if threads is not None and not threads.isdigit():
        for factor in range(2, _FACTORS + 1):
            yield f"{bracketed(threads)} * {factor}"


def _multiple(first: str, needs: Mapping[str, Need], known: Mapping[str, Mapping[str, int]]) -> str:
    """Return a multiple of an expression; for a plain number, the largest need."""
    if first.isdigit():
        return str(max(need.least for need in needs.values()))
    ratios = [-(-need.most // parse(first).evaluate(known[case])) for case, need in needs.items()]
    return f"{bracketed(first)} * {max(ratios)}"
