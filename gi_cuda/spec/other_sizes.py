"""Cases of other sizes and seeds than a target's own: few, small ones first, each planned anew.

A variant may be right for the sizes of all cases alone: odd ones, multiples of a block, at most so
large; and by chance for their random numbers, where answers are yes or no, or of few values. A size
is an integer that a case gives to the data module, other than its seed. Each size is varied alone,
and all together, beside the smallest case; those that the target's ``domain`` leaves out are not
made.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from gi_cuda.spec.cases import reseeded
from gi_cuda.spec.expression import Expression, ExpressionError, parse
from gi_cuda.spec.target import Case, Target, Value, defaults

MOST: Final = 32
"""Cases that are derived at most."""

SEEDS: Final = 8
"""Other seeds: with so many, what is wrong for one in five is seen."""

LARGER: Final = 4
"""Times as much data as the largest case has that a derived one may have, by the product of its
sizes."""

OWN: Final = 1 << 23
"""The largest product of sizes that the source has for a program of its own, if that is larger."""

_NEAR: Final = 1025
"""Sizes among which one inside the domain is looked for: as many as a block has threads, and one
more."""

_SEEN: Final = 2050
"""Sizes up to which it is looked at after how many elements there is one more block."""


@dataclass(frozen=True, slots=True)
class OtherCase:
    """A derived case.

    Attributes:
        words: the sizes that are other ones, as ``rows = 1``; or that random numbers are.
        reseeded: whether these alone are.
    """

    case: Case = field(hash=False)
    words: str
    reseeded: bool = False

    def __str__(self) -> str:
        return self.words


def sizes_of(case: Case) -> dict[str, int]:
    """The integers among a case's arguments, but for its seed, by name."""
    return {
        name: value for name, value in case.args.items() if name != "seed" and type(value) is int
    }


def outside_domain(target: Target, values: Mapping[str, int]) -> str:
    """The first condition of a target's domain that does not hold; "" where all do. A condition is
    not looked at where it needs what is not among the values, and does not hold where it has no
    value."""
    for condition in target.domain:
        if condition.names <= values.keys() and not _holds(condition, values):
            return condition.text
    return ""


def other_sizes(
    target: Target, cases: Sequence[Case], own: Mapping[str, Sequence[int]]
) -> list[OtherCase]:
    """Derived cases, the smallest first; none where the cases have no sizes.

    Args:
        cases: those of the back end; those of another one may be smaller.
        own: sizes that the source has for a program of its own, by name.
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
    """Derived cases in which a size is one of some numbers, or one more; the other sizes are as
    small as can be where that is a lot of data.

    Args:
        cases: as :func:`other_sizes` has them.
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
    """The integers that a source has, shifted ones as well."""
    return {
        int(number, 0 if number[:2] in ("0x", "0X") else 10) << int(shift or 0)
        for number, shift in _INTEGER.findall(text)
        if len(number) < 12 and len(shift) < 3
    }


def _alike(target: Target, case: Case) -> list[Case]:
    """The cases of a target that have the same sizes as one of them, with whatever values."""
    return [one for one in target.cases if sizes_of(one).keys() == sizes_of(case).keys()]


def _derived(base: Case, changed: Mapping[str, int]) -> OtherCase:
    words = ", ".join(f"{name} = {value}" for name, value in changed.items())
    case = replace(base, name=f"{base.name}, {words}", args={**base.args, **changed})
    return OtherCase(case, words)


def other_seeds(target: Target, names: Sequence[str]) -> list[OtherCase]:
    """Return the smallest case of a target with :data:`SEEDS` other seeds, and each of some cases
    with one; none where cases have no seeds.

    Args:
        names: of the latter cases.
    """
    smallest = min(target.cases, key=_volume).name
    some = reseeded(target, [smallest], SEEDS)
    others = reseeded(target, [one for one in names if one != smallest], 1)
    words = "other random numbers in its inputs (case {})"
    return [OtherCase(one, words.format(one.name), reseeded=True) for one in (*some, *others)]


def _volume(case: Case) -> int:
    return math.prod(max(1, one) for one in sizes_of(case).values())


def _changes(
    target: Target,
    given: Mapping[str, int],
    known: Sequence[Mapping[str, int]],
    bound: int,
) -> Iterator[dict[str, int]]:
    """Sizes in place of those given, in the order in which they tell most."""
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
    """The next size that is inside the domain, beside others that are given; the same, if there is
    none near."""
    near = range(value, value + _NEAR)
    return next((v for v in near if not outside_domain(target, {**given, name: v})), value)


def _values(given: int, tile: int, most: int, bound: int) -> list[int]:
    """Return the values to try for one size: an odd one, an even one that 4 does not divide, a
    block's size and one more and one less, 1, and two larger than in any case, one of them of whole
    blocks.

    Args:
        given: in the base case.
        tile: elements after which there is one more block.
        most: in any case.
        bound: what it must not exceed.
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
    """After how many elements of a size a launch has one more block; where none has, the threads of
    the largest block."""
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
    """After how many elements of a size an expression becomes another one; 0: it never does."""

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
    """The values of names that are integers, and of scalars that follow from them.

    Raises:
        ExpressionError: one of these has no value.
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
    """Numbers that a source gives to variables of these names, as ``n = 1 << 20``."""
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
    """Conditions on sizes that comments of a source state, as ``m and n are multiples of 16``."""
    wanted, found = set(names), []
    for comment in _COMMENT.findall(text):
        for some, number in _MULTIPLE.findall(comment):
            told = [one for one in re.split(r"\W+", some) if one in wanted]
            found += [f"{name} % {number} == 0" for name in told if int(number)]
    return [parse(one) for one in dict.fromkeys(found)]
