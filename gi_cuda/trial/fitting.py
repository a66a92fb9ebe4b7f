"""Sizes of which all cases have enough: expressions that fit what a trial has seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from gi_cuda.init.sizes import bracketed
from gi_cuda.spec.expression import ExpressionError, parse

_CLOSE = 4
"""A size is thought to be meant if it is at most so many times what is needed."""

_FACTORS = 16


@dataclass(frozen=True, slots=True)
class Need:
    """How many items a case needs.

    Attributes:
        least: so many at least.
        most: so many are enough, for all that is known.
    """

    least: int
    most: int


def enough(
    now: str,
    threads: str | None,
    needs: Mapping[str, Need],
    known: Mapping[str, Mapping[str, int]],
    *,
    doubted: bool,
) -> str:
    """The plainest expression that gives all cases what they need.

    Args:
        now: what it is now, which is too little for some of them.
        threads: how many threads there are.
        needs: by case; of one that is not there, what it has is enough.
        known: by case, the values of the names that may be used.
        doubted: whether the least was not enough before.
    """
    least = {case: one.most if doubted else one.least for case, one in needs.items()}

    def fits(text: str) -> bool:
        try:
            values = {case: parse(text).evaluate(known[case]) for case in known}
            before = {case: parse(now).evaluate(known[case]) for case in known}
        except ExpressionError:
            return False
        return all(values[case] >= before[case] for case in known) and all(
            least[case] <= values[case] <= _CLOSE * needs[case].most for case in needs
        )

    names = sorted(next(iter(known.values())))
    found = next(filter(fits, _candidates(now, threads, names, least, known)), None)
    return found or _multiple(now, needs, known)


def _candidates(
    now: str,
    threads: str | None,
    names: Sequence[str],
    least: Mapping[str, int],
    known: Mapping[str, Mapping[str, int]],
) -> Iterator[str]:
    more = {needed - parse(now).evaluate(known[case]) for case, needed in least.items()}
    if len(more) == 1 and not now.isdigit():
        yield f"{now} + {more.pop()}"
    yield from names
    if threads is not None and not threads.isdigit():
        yield threads
    product = bracketed(now)
    for factor in range(2, _FACTORS + 1):
        yield f"{product} * {factor}"
        if factor == 2:
            yield from (f"{now} + {name}" for name in names if name != now)
            pairs = list(combinations_with_replacement(names, 2))
            yield from (f"{a} * {b}" for a, b in pairs)
            yield from (f"({a} + 1) * ({b} + 1)" for a, b in pairs)
    if threads is not None and not threads.isdigit():
        for factor in range(2, _FACTORS + 1):
            yield f"{bracketed(threads)} * {factor}"


def _multiple(now: str, needs: Mapping[str, Need], known: Mapping[str, Mapping[str, int]]) -> str:
    """A multiple of what it is; a number, if it is one."""
    if now.isdigit():
        return str(max(need.most for need in needs.values()))
    ratios = [-(-need.most // parse(now).evaluate(known[case])) for case, need in needs.items()]
    return f"{bracketed(now)} * {max(ratios)}"
