"""Derive cases with other sizes and seeds from a target's cases.

A variant may be right only for sizes like those of the cases: odd ones, multiples of a block, at
most so large. It may also be right by chance for their random numbers, if answers have few possible
values. A size is an integer that a case gives to the data module, except its seed. Starting from
the smallest case, each size is varied alone, and all together. Sizes outside the target's
``domain`` are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from gi_cuda.spec.case_data.cases import reseeded
from gi_cuda.spec.expression import Expression, ExpressionError, parse
from gi_cuda.spec.parameters import Value
from gi_cuda.spec.target import Case, Target, defaults

MOST: Final = 32
"""Largest number of derived cases."""

SEEDS: Final = 8
"""Number of other seeds. So many detect an error that occurs with one seed in five."""

LARGER: Final = 4
"""Largest ratio of data (product of sizes) between a derived case and the largest case."""

OWN: Final = 1 << 23
"""Largest product of sizes for derived cases whose sizes come from numbers in the source."""

_NEAR: Final = 1025
"""Number of successive sizes that are tried to find one inside the domain: threads of the largest
block, plus one."""

_SEEN: Final = 2050
"""Upper bound of the sizes that are tried to find the number of elements per block."""


@dataclass(frozen=True, slots=True)
class OtherCase:
    """A derived case.

    Attributes:
        case: the case.
        words: description of the change: ``rows = 1``, or other random numbers.
        reseeded: whether only the seed was changed.
    """

    case: Case = field(hash=False)
    words: str
    reseeded: bool = False

    def __str__(self) -> str:
        return self.words


def sizes_of(case: Case) -> dict[str, int]:
    """Return the sizes of a case: its integer arguments by name, without the seed."""
    return {
        name: value for name, value in case.args.items() if name != "seed" and type(value) is int
    }


def outside_domain(target: Target, values: Mapping[str, int]) -> str:
    """Return the first violated condition of a target's domain; "" if all hold.

    A condition that uses a name without a value is skipped. A condition that cannot be evaluated,
    for example due to a division by zero, counts as violated.
    """
    for condition in target.domain:
        if condition.names <= values.keys() and not _holds(condition, values):
            return condition.text
    return ""


def other_sizes(
    target: Target, cases: Sequence[Case], own: Mapping[str, Sequence[int]]
) -> list[OtherCase]:
    """Derive cases with other sizes, the smallest first; none if the cases have no sizes.

    Args:
        target: the target.
        cases: cases of the back end; cases of another back end may be smaller.
        own: numbers that the source assigns to variables named like a size, by name.
    """
    largest = max(cases, key=_volume)
    alike = _alike(target, largest)
    base = min(alike, key=_volume)
    given = sizes_of(base)
    if not given:
        return []
    bound = LARGER * _volume(largest)
    known = [sizes_of(one) for one in alike]
    found: dict[tuple[int, ...], OtherCase] = {}
    mine = [{name: value} for name in given for value in own.get(name, ())]
    for changed in (*_changes(target, given, known, bound), *mine):
        sizes = {**given, **changed}
        most = OWN if changed in mine else bound
        fits = math.prod(sizes.values()) <= most and sizes not in known
        if fits and not outside_domain(target, sizes) and len(found) < MOST:
            found.setdefault(tuple(sizes.values()), _derived(base, changed))
    return sorted(found.values(), key=lambda one: _volume(one.case))


def sizes_near(target: Target, cases: Sequence[Case], numbers: Iterable[int]) -> list[OtherCase]:
    """Derive cases in which a size equals one of some numbers, or is larger by one.

    If that is too much data, the other sizes are as small as the domain allows.

    Args:
        target: the target.
        cases: cases of the back end.
        numbers: the numbers.
    """
    base = min(_alike(target, max(cases, key=_volume)), key=_volume)
    given = sizes_of(base)
    least = {name: _inside(target, given, name, 1) for name in given}
    found = []
    for value in (value for number in numbers for value in (number + 1, number)):
        for name in given:
            for others in (given, least):
                sizes = {**others, name: value}
                if math.prod(sizes.values()) <= OWN:
                    changed = {one: sizes[one] for one in sizes if sizes[one] != given[one]}
                    if changed and not outside_domain(target, sizes):
                        found.append(_derived(base, changed))
                    break
    return found[:MOST]


_INTEGER = re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)[uUlL]*(?:\s*<<\s*(\d+))?(?![\w.])")


def numbers_in(text: str) -> set[int]:
    """Return the integer constants in a source, including shifted ones such as ``1 << 20``."""
    return {
        int(number, 0 if number[:2] in ("0x", "0X") else 10) << int(shift or 0)
        for number, shift in _INTEGER.findall(text)
        if len(number) < 12 and len(shift) < 3
    }


def _alike(target: Target, case: Case) -> list[Case]:
    """Return the cases of a target whose sizes have the same names as those of a case."""
    return [one for one in target.cases if sizes_of(one).keys() == sizes_of(case).keys()]


def _derived(base: Case, changed: Mapping[str, int]) -> OtherCase:
    words = ", ".join(f"{name} = {value}" for name, value in changed.items())
    case = replace(base, name=f"{base.name}, {words}", args={**base.args, **changed})
    return OtherCase(case, words)


def other_seeds(target: Target, names: Sequence[str]) -> list[OtherCase]:
    """Derive cases with other seeds; none from cases without a seed.

    The smallest case of the target gets :data:`SEEDS` other seeds, each named case one.

    Args:
        target: the target.
        names: names of the cases that get one other seed.
    """
    smallest = min(target.cases, key=_volume).name
    some = reseeded(target, [smallest], SEEDS)
    others = reseeded(target, [one for one in names if one != smallest], 1)
    words = "other random numbers in its inputs (case {})"
    return [OtherCase(one, words.format(one.name), reseeded=True) for one in (*some, *others)]


def _volume(case: Case) -> int:
    return math.prod(max(1, one) for one in sizes_of(case).values())


def _changes(
    target: Target, given: Mapping[str, int], known: Sequence[Mapping[str, int]], bound: int
) -> Iterator[dict[str, int]]:
    """Yield changes to the given sizes, the most informative first.

    Args:
        target: the target.
        given: sizes of the base case.
        known: sizes of all cases with these names.
        bound: largest product of sizes.
    """
    kinds: dict[str, list[int]] = {}
    far: list[dict[str, int]] = []
    for name, value in given.items():
        others = math.prod(given.values()) // max(1, value)
        most = max(one[name] for one in known)
        some = _values(value, tile_of(target, given, name), most, bound // max(1, others))
        kinds[name] = [_inside(target, given, name, one) for one in some]
        least = {other: _inside(target, given, other, 1) for other in given if other != name}
        large = min(LARGER**2 * most, bound // math.prod(least.values())) | 1
        far.append({**least, name: _inside(target, given, name, large - 2)})
    for values in zip(*kinds.values(), strict=True):
        changed = dict(zip(kinds, values, strict=True))
        yield from ({name: value} for name, value in changed.items())
        if len(changed) > 1:
            yield changed
    yield from (one for one in far if len(one) > 1)


def _inside(target: Target, given: Mapping[str, int], name: str, value: int) -> int:
    """Return the next size from `value` on that is inside the domain, with the other sizes given.

    The result is `value` itself if no size near it is inside.
    """
    near = range(value, value + _NEAR)
    return next((v for v in near if not outside_domain(target, {**given, name: v})), value)


def _values(given: int, tile: int, most: int, bound: int) -> list[int]:
    """Return the values to try for one size.

    They are an odd one, an even one that 4 does not divide, a multiple of a block's elements with
    its two neighbours, 1, and two larger than in any case, one of which is a multiple of a block's
    elements.

    Args:
        given: the size in the base case.
        tile: number of elements per block.
        most: the largest size in any case.
        bound: upper bound of the size.
    """
    whole = max(1, round(given / tile)) * tile
    large = max(1, min(LARGER * most, bound - 1))
    return [
        given + 1 if given % 2 == 0 else given + 2,
        given - given % 4 + 2,
        large - (large + 1) % 2,
        max(tile, large - large % tile),
        whole + 1,
        whole - 1 if whole > 1 else 3,
        whole,
        1,
    ]


def tile_of(target: Target, sizes: Mapping[str, int], name: str) -> int:
    """Return the number of elements of a size after which a launch has one more block.

    If no grid depends on the size, the result is the number of threads of the largest block.
    """
    names: dict[str, Value] = {**defaults(target), **sizes}
    periods, threads = [], [1]
    for step in (step for launch in target.launches for step in launch.steps):
        periods += [_period(target, one, names, name) for one in step.grid]
        try:
            computed = _computed(target, names)
            threads.append(math.prod(one.evaluate(computed) for one in step.block))
        except ExpressionError:
            continue
    return max(periods, default=0) or max(threads)


def _period(target: Target, grid: Expression, names: Mapping[str, Value], name: str) -> int:
    """Return the number of elements of a size after which an expression's value changes; 0: never.

    The expression is that of a grid.
    """

    def at(size: int) -> int:
        return grid.evaluate(_computed(target, {**names, name: size}))

    try:
        if at(1) == at(_SEEN):
            return 0
        changes = (size for size in range(2, _SEEN) if at(size) != at(size - 1))
        first, second = next(changes, 0), next(changes, 0)
    except ExpressionError:
        return 0
    return max(0, second - first)


def _computed(target: Target, names: Mapping[str, Value]) -> dict[str, int]:
    """Return the integer values among `names`, and the scalars that are computed from them.

    Raises:
        ExpressionError: a scalar has no value.
    """
    known = {name: value for name, value in names.items() if isinstance(value, int)}
    for scalar in target.scalars:
        if scalar.value is not None:
            known[scalar.name] = scalar.value.evaluate(known)
    return known


def _holds(condition: Expression, values: Mapping[str, int]) -> bool:
    try:
        return condition.evaluate(values) != 0
    except ExpressionError:
        return False


_ASSIGNED = re.compile(r"\b([A-Za-z_]\w*)\s*=\s*(\d+)\s*(?:<<\s*(\d+))?\s*[,;)]")


def own_sizes(text: str, names: Iterable[str]) -> dict[str, list[int]]:
    """Return the numbers that a source assigns to variables of these names: ``n = 1 << 20``."""
    wanted = set(names)
    found: dict[str, list[int]] = {}
    for name, number, shift in _ASSIGNED.findall(text):
        value = int(number) << int(shift or 0) if len(number) < 10 and len(shift) < 3 else 0
        if name in wanted and value > 0:
            found.setdefault(name, []).append(value)
    return found


_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_MULTIPLE = re.compile(
    r"\b(\w+(?:(?:\s*,\s*|\s+and\s+|\s*,\s*and\s+)\w+)*)"
    r"\s+(?:is|are|must\s+be|has\s+to\s+be|have\s+to\s+be)\s+(?:an?\s+)?multiples?\s+of\s+(\d{1,6})\b"
)


def stated_domain(text: str, names: Iterable[str]) -> list[Expression]:
    """Return conditions on sizes from comments of a source: ``m and n are multiples of 16``."""
    wanted, found = set(names), []
    for comment in _COMMENT.findall(text):
        for some, number in _MULTIPLE.findall(comment):
            told = [one for one in re.split(r"\W+", some) if one in wanted]
            found += [f"{name} % {number} == 0" for name in told if int(number)]
    return [parse(one) for one in dict.fromkeys(found)]
