"""Substitutes for the inputs of a target."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, islice, permutations, product
from typing import Final

from gi_cuda.backends.protocol.substitutes import InPlace, Joint, Substitute, struct_size
from gi_cuda.spec import BufferRole, Target
from gi_cuda.spec.case_data.other_sizes import (
    OtherCase,
    other_sizes,
    outside_domain,
    own_sizes,
    sizes_near,
    sizes_of,
    stated_domain,
)
from gi_cuda.spec.expression import Expression

_REALS: Final = (
    Substitute.ZERO,
    Substitute.SIGNED,
    Substitute.BETWEEN,
    Substitute.THOUSANDTH,
    Substitute.NOT_ZERO,
    Substitute.NEGATIVE,
    Substitute.FIVEFOLD,
    Substitute.THOUSANDFOLD,
    Substitute.THOUSANDFOLD_NEGATIVE,
    Substitute.LOWERED,
    Substitute.PERMUTED,
    Substitute.REPEATED,
    Substitute.NEGATIVE_ZERO,
    Substitute.SUBNORMAL,
    Substitute.UNDEFINED,
    Substitute.INFINITE,
)
_INTEGERS: Final = (
    Substitute.ZERO,
    Substitute.BETWEEN,
    Substitute.PERMUTED,
    Substitute.NOT_ZERO,
    Substitute.REPEATED,
    Substitute.INDICES,
    Substitute.WHOLE_RANGE,
)
"""Substitutes for the contents of a buffer. If one of them is used as an index that is too large,
the reference crashes and no further one is tried."""

_REAL: Final = (
    Substitute.MORE,
    Substitute.ZERO,
    Substitute.FIVEFOLD,
    Substitute.OPPOSITE,
    Substitute.ONE,
    Substitute.MINUS_ONE,
)
_NATURAL: Final = (Substitute.HALF, Substitute.ONE, Substitute.TWO, Substitute.ZERO)
_WHOLE: Final = (*_NATURAL, Substitute.OPPOSITE, Substitute.MINUS_ONE)
"""Substitutes for a scalar. Integers often are sizes, so half of the value is tried first; 0 comes
late, since kernels may divide by it."""

_TELLING: Final = (
    Substitute.SIGNED,
    Substitute.THOUSANDFOLD,
    Substitute.MORE,
    Substitute.TWO,
    Substitute.MINUS_ONE,
)
"""The substitutes to try first, as there may be time for only two of each input.

Of 61 edits that are right on a target's cases and wrong with other inputs, two substitutes of this
list find 38; of 36 rewrites of ``benchmarks/referee`` they find 28. With the first two of each list
above it is 13 and 22.
"""

_MODES: Final = (Substitute.ONE, Substitute.TWO, Substitute.MINUS_ONE)
"""Substitutes for two scalars at once, which may be modes."""


_PAIRS: Final = 6
"""Largest number of pairs of buffers for which substitutes are tried."""


def inputs(target: Target, planned: bool = False) -> dict[str, tuple[Substitute, ...]]:
    """Return the inputs that can be substituted, each with its substitutes in the order to try.

    These are buffers in plain memory that the case gives and that hold no addresses, and scalars
    that are passed to a kernel.

    Args:
        planned: whether other sizes are tried as whole cases. Then scalars that launches and buffer
            sizes depend on are left out: changing only the kernel's copy would be inconsistent.
    """
    read_through = {one.buffer for one in target.textures}
    buffers = {
        one.name: (Substitute.ZERO, Substitute.MEMBERS)
        if struct_size(one)
        else _contents("f" if one.type.real else one.dtype.str[1:])
        for one in target.buffers
        if one.role.given
        and one.symbol is None
        and not one.addresses
        and one.name not in read_through
    }
    passed = {name for one in target.launches for step in one.steps for name in target.passed(step)}
    followed = _followed(target) if planned else frozenset()
    scalars = {
        one.name: _REAL if one.dtype.kind == "f" else _NATURAL if one.dtype.kind == "u" else _WHOLE
        for one in target.scalars
        if one.name in passed and not one.redraw and one.name not in followed
    }
    return {**buffers, **scalars}


def telling(some: Sequence[Substitute]) -> list[Substitute]:
    """Return the substitutes for an input, those first that reveal most faults."""
    first = [one for one in _TELLING if one in some]
    return [*first, *(one for one in some if one not in first)]


def _contents(kind: str) -> tuple[Substitute, ...]:
    """Return the substitutes for a buffer's contents.

    Args:
        kind: NumPy's name of its type, or the first letter.
    """
    if kind[0] not in "fiu":
        return (Substitute.ZERO,)
    some = _REALS if kind[0] == "f" else _INTEGERS
    return (some[0], Substitute.UPPER, *some[1:]) if kind in ("i8", "u8") else some


def derived_sizes(target: Target, names: Collection[str], source: str) -> list[OtherCase]:
    """Return cases of other sizes than a target's own.

    Args:
        names: names of the back end's cases.
        source: text of the kernels, and of the program around them if known. Conditions on sizes in
            its comments are respected, if the target's cases satisfy them.
    """
    cases = [one for one in target.cases if one.name in names]
    known = {name for one in cases for name in sizes_of(one)}
    return other_sizes(_within(target, known, source), cases, own_sizes(source, known))


def near_sizes(
    target: Target, names: Collection[str], source: str, numbers: Sequence[int]
) -> list[OtherCase]:
    """Return cases whose sizes are near some numbers.

    Args:
        names, source: see :func:`derived_sizes`.
    """
    cases = [one for one in target.cases if one.name in names]
    known = {name for one in cases for name in sizes_of(one)}
    return sizes_near(_within(target, known, source), cases, numbers)


def _within(target: Target, known: Collection[str], source: str) -> Target:
    """Return the target with conditions on sizes from comments, if the target's cases satisfy them.

    Args:
        known: names of sizes.
    """
    stated = [replace(target, domain=(one,)) for one in stated_domain(source, known)]
    held = [
        condition
        for one in stated
        for condition in one.domain
        if not any(outside_domain(one, sizes_of(case)) for case in target.cases)
    ]
    return replace(target, domain=(*target.domain, *held))


def joint_inputs(target: Target, sizes: Sequence[OtherCase]) -> list[Joint]:
    """Return combinations of several substitutes.

    They are, in order:

    - numbers of both signs in all real-valued buffers, and a thousandth of all of them;
    - numbers of both signs in all of these buffers, in two cases of other sizes, and with each
      substitute for a scalar;
    - each pair of integer scalars that are no sizes; - zeros in each integer buffer, in the largest
    case of other sizes; - zeros in one real-valued buffer and infinities in another, which shows
    programs that skip products
      with 0.

    Args:
        sizes: cases of other sizes, the smallest first.
    """
    known = inputs(target, planned=bool(sizes))
    buffers = {one.name: one for one in target.buffers if one.name in known}
    signed = tuple(
        (name, Substitute.SIGNED) for name in buffers if Substitute.SIGNED in known[name]
    )
    scalars = {name: some for name, some in known.items() if name not in buffers}
    small = tuple((name, Substitute.THOUSANDTH) for name, _ in signed)
    found = [Joint(signed), Joint(small)] if len(signed) > 1 else []
    if signed:
        found += [Joint(signed, one) for one in dict.fromkeys((*sizes[1:2], *sizes[-1:]))]
        found += [Joint((*signed, (name, one))) for name, some in scalars.items() for one in some]
    modes = [name for name, some in scalars.items() if Substitute.TWO in some]
    for pair in combinations(modes, 2):
        values = product(*([v for v in _MODES if v in scalars[name]] for name in pair))
        found += [Joint(tuple(zip(pair, some, strict=True))) for some in values]
    integers = [one.name for one in buffers.values() if one.item is None and not one.type.real]
    if sizes:
        found += [Joint(((name, Substitute.ZERO),), sizes[-1]) for name in integers]
    real = [name for name in buffers if Substitute.INFINITE in known[name]]
    pairs = islice(permutations(real, 2), _PAIRS)
    return [
        *found,
        *(Joint(((one, Substitute.ZERO), (two, Substitute.INFINITE))) for one, two in pairs),
    ]


def in_place(target: Target, source: str) -> list[InPlace]:
    """Return pairs of an input and an output that may share memory, unless the source excludes it.

    Args:
        source: text of the kernels.
    """
    if "__restrict" in source:
        return []
    known = inputs(target)
    found = [
        InPlace(one.name, other.name)
        for one in target.buffers
        for other in target.buffers
        if one.role is BufferRole.INPUT
        and one.name in known
        and other.role is BufferRole.OUTPUT
        and other.symbol is None
        and one.type == other.type
    ]
    return found[:_PAIRS]


def real_inputs(target: Target) -> list[str]:
    """Return the names of read-only buffers of real numbers among the inputs."""
    found = inputs(target)
    return [
        one.name
        for one in target.buffers
        if one.name in found and one.role is BufferRole.INPUT and one.dtype.kind == "f"
    ]


def _followed(target: Target) -> frozenset[str]:
    """Return the scalars that launch geometry and buffer sizes depend on."""
    found = {name for one in _expressions(target) for name in one.names}
    computed = {one.name: one.value.names for one in target.scalars if one.value is not None}
    for name, names in reversed(computed.items()):
        if name in found:
            found |= names
    return frozenset(found)


def _expressions(target: Target) -> Iterator[Expression]:
    for launch in target.launches:
        yield launch.repeat
        for step in launch.steps:
            yield from (*step.grid, *step.block, step.shared)
    yield from (one.size for one in target.buffers if one.size is not None)
    for image in target.images:
        yield from (*image.size, *((image.layers,) if image.layers else ()))
