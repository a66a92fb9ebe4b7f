"""Group launches of kernels that take turns into rounds; each round counts as one launch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from filecmp import cmp

from gi_cuda.capture.launches.recording import Memory, Pointer, Taken
from gi_cuda.capture.launches.uses import KernelUse

BETWEEN = "between"
"""Value of `trouble` if something else changed the memory that kernels of a round share."""


@dataclass(frozen=True, slots=True)
class Rounds:
    """Kernels that take turns, or one by itself.

    Attributes:
        uses: the kernels, in the order of their launches.
        every: for each round, the number of each kernel's launch, from 0.
    """

    uses: tuple[KernelUse, ...]
    every: tuple[tuple[int, ...], ...]


def rounds_of(uses: Sequence[KernelUse]) -> Rounds:
    """Find the rounds of kernels.

    A round begins with the kernel that is launched first and has one launch of every other kernel,
    in the order of the first round. Launches outside of rounds are left out.
    """
    launches = sorted(
        (place, which, number)
        for which, use in enumerate(uses)
        for number, place in enumerate(use.places.tolist())
    )
    found: list[list[tuple[int, int]]] = []
    for _, which, number in launches:
        if which == launches[0][1]:
            found.append([])
        found[-1].append((which, number))
    whole = [one for one in found if sorted(which for which, _ in one) == [*range(len(uses))]]
    order = [which for which, _ in whole[0]] if whole else [*range(len(uses))]
    alike = [one for one in whole if [which for which, _ in one] == order]
    every = tuple(tuple(number for _, number in one) for one in alike)
    return Rounds(tuple(uses[which] for which in order), every)


def taken_rounds(rounds: Rounds, taken: Sequence[Taken]) -> Iterator[Taken]:
    """Yield the completely recorded rounds, each as one launch."""
    known = {(one.kernel, one.ordinal): one for one in taken}
    names = [use.name.mangled for use in rounds.uses]
    for numbers in rounds.every:
        found = [known.get(one) for one in zip(names, numbers, strict=True)]
        parts = [one for one in found if one is not None]
        if len(parts) == len(names):
            yield parts[0] if len(parts) == 1 else _one(parts)


def _one(parts: Sequence[Taken]) -> Taken:
    """Merge the launches of a round into one launch.

    The contents of a memory before the round are those before the first launch that got it.
    """
    first = parts[0]
    trouble = next((one.trouble for one in parts if one.trouble), "")
    parameters: list[bytes] = []
    pointers: list[Pointer] = []
    memories: dict[tuple[int, int, str], Memory] = {}
    for part in parts:
        keys = [(one.base, one.size, one.symbol) for one in part.memories]
        for key, then in zip(keys, part.memories, strict=True):
            before = memories.setdefault(key, then)
            if before is then:
                continue
            held, got = before.after, then.before
            if not trouble and held != got and not cmp(held, got, shallow=False):
                trouble = BETWEEN
            if before.changed or then.changed:
                again = then.again or before.again
                memories[key] = replace(before, after=then.after, again=again)
        places = [[*memories].index(key) for key in keys]
        pointers += [
            replace(one, parameter=len(parameters) + one.parameter, memory=places[one.memory])
            for one in part.pointers
        ]
        parameters += part.parameters
    return replace(
        first,
        trouble=trouble,
        parameters=tuple(parameters),
        pointers=tuple(pointers),
        memories=tuple(memories.values()),
        further=tuple(parts[1:]),
    )
