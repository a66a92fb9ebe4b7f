"""Programs to run, the plans by which they run cases, and how measurements are sampled."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gi_cuda.backends.protocol.schedules import Schedules
from gi_cuda.backends.protocol.variants import Binary
from gi_cuda.results.verdict import LEAST_FLOOR
from gi_cuda.spec import Launch, Target, Value
from gi_cuda.spec.launching.own_launches import OwnLaunches


@dataclass(frozen=True, slots=True)
class CasePlan:
    """The launches by which one configuration runs one case.

    Attributes:
        case: the case's name.
        launches: launches in order.
        sizes: number of elements of every buffer.
        storage: for each buffer, the name of the buffer in whose memory its contents lie after all
            launches.
        draw: number of the draw, for scalars that are redrawn.
        offsets: bytes from a buffer's begin to the address that kernels get, if not 0.
    """

    case: str
    launches: tuple[Launch, ...]
    sizes: Mapping[str, int]
    storage: Mapping[str, str]
    draw: int = 0
    offsets: Mapping[str, int] = field(default_factory=dict)

    @property
    def redrawn(self) -> bool:
        """Tell whether another draw may give other outputs."""
        return any(launch.redrawn for launch in self.launches)

    @property
    def threads(self) -> int:
        """Return the largest number of threads of one of its launches."""
        return max(math.prod(launch.grid) * math.prod(launch.block) for launch in self.launches)

    def drawn(self, draw: int) -> CasePlan:
        """Return this plan with another draw."""
        return replace(self, draw=draw)


@dataclass(frozen=True, slots=True)
class Program:
    """A binary, the configuration that decides its launches, and the cases to run it on.

    Attributes:
        own: its own launches, if they differ from the target's.
    """

    binary: Binary
    configuration: Mapping[str, Value]
    cases: tuple[str, ...]
    own: OwnLaunches | None = None

    def __post_init__(self) -> None:
        # A plain dict: to unpickle another mapping, a worker would load the search's modules.
        object.__setattr__(self, "configuration", dict(self.configuration))

    def launched(self, target: Target) -> Target:
        """Return the target with this program's launches."""
        return target if self.own is None else self.own.of(target)


@dataclass(frozen=True, slots=True)
class Siblings:
    """Cases like the held-out ones, but with other seeds, that a faster variant has to pass too.

    They are not timed.

    Attributes:
        cases: their names.
        limit: seconds after which a launch sequence on one of them counts as hung.
        below: the largest ratio of a variant's time to the reference's at which it runs them.
    """

    cases: tuple[str, ...] = ()
    limit: float = 1.0
    below: float = math.inf


@dataclass(frozen=True, slots=True)
class Sampling:
    """Numbers of timed launches of a measurement (rules of "Execute" in the design).

    Attributes:
        screen: pairs of launches, variant and reference in turn, that every variant gets, unless
            the first pair shows that it is far slower.
        step: pairs added at a time while a variant looks faster but this is not yet certain.
        most: pairs after which the result stays uncertain; 0: only outputs are checked.
        floor: noise floor as a fraction: ratios within 1 ± floor count as the same.
        limit: seconds of device (or CPU) time after which a launch sequence counts as hung.
        schedules: thread orders under which outputs are verified once more; a variant that looks
            faster is verified under all of them.
        overlooked: signs of harm (:class:`~gi_cuda.backends.protocol.device.Fate`) that do not
            count, since the reference shows them as well.
        siblings: further cases that a faster variant has to pass.
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
        """Return a copy without timed launches, to check outputs only."""
        return replace(self, screen=0, most=0, siblings=Siblings())


Outputs = Mapping[str, np.ndarray]
