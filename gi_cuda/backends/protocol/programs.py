"""What runs, on which cases, and how it is sampled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gi_cuda.backends.protocol.schedules import Schedules
from gi_cuda.backends.protocol.variants import Binary
from gi_cuda.results.verdict import LEAST_FLOOR
from gi_cuda.spec import Launch, Target, Value
from gi_cuda.spec.own_launches import OwnLaunches


@dataclass(frozen=True, slots=True)
class CasePlan:
    """How one configuration runs one case.

    Attributes:
        case: the case's name.
        launches: in order.
        sizes: elements of every buffer.
        storage: for each buffer the one in whose memory its contents lie after all launches.
        draw: number of the draw, for scalars that are redrawn.
        offsets: bytes from a buffer's begin to where kernels' pointers point, if any.
    """

    case: str
    launches: tuple[Launch, ...]
    sizes: Mapping[str, int]
    storage: Mapping[str, str]
    draw: int = 0
    offsets: Mapping[str, int] = field(default_factory=dict)

    @property
    def redrawn(self) -> bool:
        """Whether another draw may give other answers."""
        return any(launch.redrawn for launch in self.launches)

    @property
    def threads(self) -> int:
        """The most threads of one of its launches."""
        return max(math.prod(launch.grid) * math.prod(launch.block) for launch in self.launches)

    def drawn(self, draw: int) -> CasePlan:
        """This plan in another draw."""
        return replace(self, draw=draw)


@dataclass(frozen=True, slots=True)
class Program:
    """A binary, the configuration that decides its launches, and the cases to run it on.

    Attributes:
        own: its launches, where they are not the target's.
    """

    binary: Binary
    configuration: Mapping[str, Value]
    cases: tuple[str, ...]
    own: OwnLaunches | None = None

    def __post_init__(self) -> None:
        # A plain one: a fresh worker would have to load the search's modules to read another.
        object.__setattr__(self, "configuration", dict(self.configuration))

    def launched(self, target: Target) -> Target:
        """The target as this program is launched."""
        return target if self.own is None else self.own.of(target)


@dataclass(frozen=True, slots=True)
class Siblings:
    """Cases that are not timed, on which what looks faster must be right as well before that is
    believed: as the held-out ones, with other seeds.

    Attributes:
        cases: their names.
        limit: seconds after which a launch sequence on one counts as hung.
        below: a variant is looked at there whose time over the reference's is at most this.
    """

    cases: tuple[str, ...] = ()
    limit: float = 1.0
    below: float = math.inf


@dataclass(frozen=True, slots=True)
class Sampling:
    """How many timed launches a measurement takes (rules of "Execute" in the design).

    Attributes:
        screen: pairs of launches, variant and reference in turn, that every variant gets, unless
            the first one shows that it is far slower.
        step: pairs added at a time while a variant looks faster and this is not yet certain.
        most: pairs after which it stays uncertain; with none, answers are all that is looked at.
        floor: noise floor as a fraction: ratios within 1 ± floor count as the same.
        limit: seconds of device (or CPU) time after which a launch sequence counts as hung.
        schedules: under which answers are verified once more; under all of them those of a variant
            that looks faster.
        overlooked: signs of harm (:class:`~gi_cuda.backends.protocol.device.Fate`) that do not
            count, since the reference shows them as well.
        siblings: where what is faster must be right besides.
    """

    screen: int = 4
    step: int = 3
    most: int = 31
    floor: float = LEAST_FLOOR
    limit: float = 1.0
    schedules: Schedules = field(default_factory=dict)
    overlooked: frozenset[str] = frozenset()
    siblings: Siblings = Siblings()

    def untimed(self) -> Sampling:
        """Without timed launches: for variants of which only the answers matter."""
        return replace(self, screen=0, most=0, siblings=Siblings())


Outputs = Mapping[str, np.ndarray]
