"""List the kernels that an application launches, and choose the launches that become cases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.capture.launches.recording import CLUSTER, COOPERATIVE, Recording
from gi_cuda.capture.mangling import KernelName, name_of
from gi_cuda.errors import UserError
from gi_cuda.spec.launching.kernel_names import listed

CASES = 4
"""Default number of launches that become cases."""

_EARLY = 5.0
"""Seconds of device time, from the first possible launch, within which launches become cases. The
limit is there because the application runs again up to the last of them."""

_RANGE = re.compile(r"(\d+)(?:\.\.(\d+))?")


@dataclass(frozen=True, slots=True)
class KernelUse:
    """A kernel that an application launches.

    Attributes:
        name: name of the kernel.
        launches: its launches, in order.
        places: numbers of its launches among all launches of the run.
        begun: seconds of device time of all kernels before each of its launches.
        share: share of the time of all kernels; 0 if no time is known.
    """

    name: KernelName
    launches: NDArray[Any]
    places: NDArray[Any]
    begun: NDArray[Any]
    share: float

    @property
    def seconds(self) -> float:
        """Time of all launches, seconds."""
        return float(self.launches["nanoseconds"].sum()) * 1e-9

    @property
    def cooperative(self) -> bool:
        """Tell whether a launch is cooperative, so that blocks may wait for each other."""
        return bool(np.any(self.launches["flags"] & COOPERATIVE))

    @property
    def clustered(self) -> bool:
        """Tell whether a launch uses clusters of blocks, so that it cannot be captured."""
        return bool(np.any(self.launches["flags"] & CLUSTER))


def uses(recording: Recording) -> list[KernelUse]:
    """Return the kernels of an application, the one that takes most time first."""
    ended = np.cumsum(recording.launches["nanoseconds"]) * 1e-9
    whole = float(recording.launches["nanoseconds"].sum()) or 1.0
    found = []
    for number, mangled in enumerate(recording.kernels):
        places = np.flatnonzero(recording.launches["kernel"] == number)
        launches = recording.launches[places]
        share = float(launches["nanoseconds"].sum()) / whole
        begun = ended[places] - launches["nanoseconds"] * 1e-9
        found.append(KernelUse(name_of(mangled), launches, places, begun, share))
    return sorted(found, key=lambda one: (-one.share, -len(one.launches)))


def chosen(every: Sequence[KernelUse], wanted: str) -> KernelUse:
    """Return the kernel that a user names; for a template, the instance that takes most time.

    Args:
        every: the kernels, the one that takes most time first.
        wanted: the user's name for the kernel.

    Raises:
        UserError: no kernel or several kernels have the name, or the kernel cannot be captured.
    """
    meant = [one for one in every if one.name.is_meant_by(wanted)]
    if not meant:
        names = listed([one.name.shown for one in every])
        raise UserError(
            f"the application launches no kernel {wanted!r}",
            where="--kernel",
            hint=f"it launches: {names}",
        )
    if len({one.name.plain for one in meant}) > 1:
        names = listed([one.name.plain for one in meant])
        raise UserError(
            f"several kernels are called {wanted!r}", where="--kernel", hint=f"name one: {names}"
        )
    if error := obstacle(meant[0]):
        raise error
    return meant[0]


def obstacle(use: KernelUse) -> UserError | None:
    """Return the error that says why a kernel cannot be captured; None if no reason is known."""
    if use.clustered:
        return UserError(
            f"{use.name.shown} is launched in clusters of blocks, which are not captured",
            where="--kernel",
            hint="take another kernel of the application",
        )
    if use.name.nameless:
        return UserError(
            f"{use.name.shown} is an instance for a type that has no name, as that of a lambda, and"
            " a target cannot name it either",
            where="--kernel",
            hint="give the type a name in the source, or take another kernel of the application",
        )
    return None


def launches_from(text: str, count: int) -> range:
    """Parse the option ``--launches`` into numbers of launches, from 0.

    Args:
        text: ``FIRST..LAST`` or ``NUMBER``, from 1; ``best``: all.
        count: number of launches.

    Raises:
        UserError: the text has another form, or names launches beyond `count`.
    """
    if text == "best":
        return range(count)
    match = _RANGE.fullmatch(text)
    first = int(match[1]) if match else 0
    last = int(match[2] or first) if match else 0
    if not 1 <= first <= last:
        raise UserError(
            f"{text!r} names no launches",
            where="--launches",
            hint="say FIRST..LAST or one number, counted from 1: --launches 10..20",
        )
    if last > count:
        raise UserError(
            f"the kernel is launched {count} times, and {text} goes beyond that",
            where="--launches",
            hint=f"numbers go from 1 to {count}",
        )
    return range(first - 1, last)


def best(use: KernelUse, among: Sequence[int], most: int) -> list[int]:
    """Choose the launches that become cases.

    Only launches on the device of the first one, within `_EARLY` seconds of it, are considered.
    They are grouped by launch configuration, and the groups take turns, the one that takes most
    time first. Within a group, launches are spread over the run.

    Args:
        use: the kernel.
        among: numbers of its launches to choose from.
        most: largest number of launches to choose.
    """
    launches = use.launches
    here = [n for n in among if launches[n]["device"] == launches[among[0]]["device"]]
    here = [n for n in here if use.begun[n] - use.begun[here[0]] <= _EARLY]
    groups: dict[tuple[int, ...], list[int]] = {}
    for number in here:
        one = launches[number]
        key = (*map(int, one["grid"]), *map(int, one["block"]), int(one["shared"]))
        groups.setdefault(key, []).append(number)
    order = sorted(groups.values(), key=lambda group: -int(launches[group]["nanoseconds"].sum()))
    turns = list(_in_turn([list(_spread(group, most)) for group in order]))
    return sorted(turns[:most])


def _spread(group: Sequence[int], most: int) -> Iterator[int]:
    """Yield evenly spaced launches of a group, those in the middle first.

    The first launch of a simulation may have nothing but zeros as input.
    """
    count = min(most, len(group))
    places = [round(i * (len(group) - 1) / max(1, count - 1)) for i in range(count)]
    middle = (len(group) - 1) / 2
    if count == 1:
        places = [round(middle)]
    yield from (group[place] for place in sorted(places, key=lambda one: abs(one - middle)))


def _in_turn(groups: Sequence[Sequence[int]]) -> Iterator[int]:
    for turn in range(max(map(len, groups))):
        yield from (group[turn] for group in groups if turn < len(group))
