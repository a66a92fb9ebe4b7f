"""What every back end's device can do, and what devices have in common."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.protocol.device_lock import WorkerSlot
from gi_cuda.backends.protocol.programs import CasePlan, Outputs
from gi_cuda.backends.protocol.requests import Beyond
from gi_cuda.backends.protocol.schedules import Schedule
from gi_cuda.backends.protocol.variants import Binary
from gi_cuda.results.measurement import Survival
from gi_cuda.spec import CaseData, Launch, Target
from gi_cuda.spec.oracles import UNWRITTEN, Rules

POISON = UNWRITTEN
"""The word that fills fresh buffers.

A quiet NaN as float and double, negative as int, an index far beyond any buffer as unsigned.
"""

UNSET = POISON + 1
"""The word that fills shared memory; as GI_UNSET of gi_runtime.hpp. With the same word as buffers,
``out[i] = shared[i]`` would leave an item as it was."""

_MARGINS = 32749
"""Words of margins."""


def margin_of(name: str) -> int:
    """The word beside a buffer, by the buffer's name; like poison, and as memory.cpp has it.

    It is not what unwritten memory holds, nor, but for two names in so many, what lies beside
    another buffer: else ``b[n] = a[n]``, one item too far in both, would leave a margin as it was.
    """
    number = 2166136261  # FNV-1a: the same in each process
    for byte in name.encode():
        number = (number ^ byte) * 16777619 % 2**32
    return POISON - 1 - number % _MARGINS


class LaunchRefused(Exception):
    """The device will not launch this: geometry, shared memory or a symbol that is not there.

    Args:
        message: what is in the way.
        where: file and line, where that is known.
        hint: what to do about it, where that is known.
        masked: whether it is that the mask of a warp function leaves out its caller.
        room: whether it is that the device has no memory left for it, beside what others hold.
    """

    def __init__(
        self,
        message: str,
        *,
        where: str = "",
        hint: str = "",
        masked: bool = False,
        room: bool = False,
    ) -> None:
        super().__init__(message)
        self.where, self.hint, self.masked, self.room = where, hint, masked, room


class LaunchHung(Exception):
    """A launch can never end. The worker is not fit for use any more."""


class LaunchCrashed(Exception):
    """A launch did damage beyond its own buffers. The worker is not fit for use any more."""


@dataclass(frozen=True, slots=True)
class Fate:
    """What would have become of launches that were confined, had they not been.

    Attributes:
        kind: one word for it.
        survival: of the worker.
        message: for people.
    """

    kind: str
    survival: Survival
    message: str


Loaded: TypeAlias = Any
"""What a device makes of a binary; only that device looks into it."""


@dataclass(frozen=True, slots=True)
class TimedRun:
    """A run that is to be timed, or verified.

    Attributes:
        loaded: the variant.
        plan: how it runs a case.
        expected: what it gave when it was verified, or is to give, as it lies in memory; None where
            its answers are not looked at.
        rules: what is as good as that; without them nothing but the same bits.
    """

    loaded: Loaded
    plan: CasePlan
    expected: Outputs | None = None
    rules: Rules | None = None


@dataclass(frozen=True, slots=True)
class Timed:
    """What became of it.

    Attributes:
        seconds: on the device's clock.
        agrees: whether its outputs are those that are expected, or as good as these.
    """

    seconds: float
    agrees: bool


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of an output that holds the first value which is wrong.

    Attributes:
        buffer: its name.
        first: index of the first value.
    """

    buffer: str
    first: int
    values: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Verified:
    """What became of a run that is verified.

    Attributes:
        seconds: on the device's clock.
        damaged: what it wrote to and must not.
        fates: what would have become of it, were it not confined, or its loops not guarded, that
            which counts first; none where it would have ended as it did.
        outputs: what it wrote, where nothing is damaged and it is not known that these are the
            outputs that are expected, or as good as these; valid until the next launch.
        part: of them, in their place, where they are large, and a value is wrong by the rules.
    """

    seconds: float
    damaged: tuple[str, ...]
    fates: tuple[Fate, ...]
    outputs: Outputs | None
    part: Part | None = None

    def kept(self) -> Verified:
        """The same, with outputs that stay valid."""
        outputs, part = self.outputs, self.part
        if outputs is not None:
            outputs = {name: np.copy(array) for name, array in outputs.items()}
        if part is not None:
            part = replace(part, values=np.copy(part.values))
        return replace(self, outputs=outputs, part=part)


class Device(Protocol):
    """One worker's device. Every method may take the whole process down; that is foreseen."""

    def close(self) -> None:
        """Free what the device holds. Only for processes that go on, or end by themselves."""

    def sample(self, threads: int) -> None:
        """Run a sample of the blocks of each later launch, see :class:`.Session`.

        Raises:
            NotImplementedError: this device runs all of them.
        """

    def isolate(self, readable: Sequence[Path], secret: Sequence[NDArray[Any]]) -> None:
        """Isolate this process until it ends, if kernels could reach anything but their buffers.

        Args:
            readable: folders that binaries come from.
            secret: arrays that no kernel may see.
        """

    def turn(self) -> AbstractContextManager[None]:
        """Inside, no other worker of the pool uses what this device shares with theirs.

        Whatever launches variants, or times them, is done inside.
        """

    def load(self, binary: Binary) -> Loaded:
        """Load a variant."""

    def load_elsewhere(self, binary: Binary) -> Loaded:
        """Load a variant that may be loaded already once more, in memory of its own."""

    def unload(self, loaded: Loaded) -> None:
        """Forget a variant and free what it holds."""

    def make_room(self, plan: CasePlan) -> None:
        """Make and fill the buffers of a case, if that was not done before.

        Raises:
            LaunchRefused: there is no room.
        """

    def make_ready(self, loaded: Loaded, plan: CasePlan) -> None:
        """Do what a variant's first run on a case would have to wait for.

        Raises:
            LaunchRefused: there is no room, or it cannot run.
        """

    def prepare(self, plan: CasePlan) -> None:
        """Restore inputs, poison outputs and scratch buffers."""

    def poison(self, plan: CasePlan, buffer: str) -> None:
        """Make one scratch buffer, no variable of the source, what no launch has written."""

    def put(self, plan: CasePlan, buffer: str, contents: NDArray[Any]) -> None:
        """Give one input, no variable of the source, other contents, until it is mended: see
        :meth:`damaged`."""

    def run(self, loaded: Loaded, plan: CasePlan, limit: float, *, keeping: bool = False) -> float:
        """Run the launches of a plan; seconds on the device's clock.

        Whatever earlier runs left in variables of the source is gone, unless it is kept.

        Well past ``limit`` seconds the process ends as hung; confined launches end by themselves
        then, and that is their fate.
        """

    def scheduled(
        self, schedule: Schedule, natural: Collection[str]
    ) -> AbstractContextManager[bool]:
        """Inside, launches run their blocks and threads in this order, but for those of some
        kernels, which keep the natural one. False where the order is not this device's to choose.
        """

    def giving(self) -> AbstractContextManager[Callable[[], Mapping[str, Beyond]]]:
        """Inside, accesses beside buffers find memory there, as far as the device can do that: asks
        how far from each buffer there were any."""

    def run_round(self, runs: Sequence[TimedRun], limit: float) -> list[Timed]:
        """Prepare and run several in turn, and look at the answers of each.

        The device need not wait for Python between them.
        """

    def verify(self, runs: Sequence[TimedRun], limit: float) -> list[Verified]:
        """Prepare and run several in turn, and look at what each wrote, to its outputs and
        elsewhere; that is mended before the next one runs.

        The device need not wait for Python between them.
        """

    def outputs(self, plan: CasePlan) -> Outputs:
        """What the launches wrote."""

    def agrees(self, plan: CasePlan, expected: Outputs, rules: Rules | None) -> bool:
        """Tell whether the launches are known to have written what is expected, or what is as good:
        see :class:`TimedRun`."""

    def damaged(self, plan: CasePlan) -> list[str]:
        """What was written to and must not be: read-only inputs, memory around buffers.

        All of it is mended.
        """

    def counting(
        self, loaded: Loaded, loops: int
    ) -> AbstractContextManager[Callable[[], Sequence[int]]]:
        """While an instrumented variant runs inside: asks for the most iterations of each loop."""


class Solid:
    """A device on which what lies beside a buffer may be another one, and all blocks run."""

    def sample(self, threads: int) -> None:
        """Raise NotImplementedError."""
        raise NotImplementedError("this device runs all blocks of a launch")

    def giving(self) -> AbstractContextManager[Callable[[], Mapping[str, Beyond]]]:
        """Nothing gives way, and nothing is known."""
        return nullcontext(dict)


DeviceMaker: TypeAlias = Callable[[Target, Mapping[str, CaseData], WorkerSlot], Device]
"""Makes the device of the worker at a slot, for a target and its cases."""


Call = TypeVar("Call")


class Bindings(Generic[Call]):
    """The launches of a plan, bound; those that take a redrawn scalar are bound anew for each draw.

    Args:
        plan: how a variant runs a case.
        bind: makes the device's call of a launch whose arguments are all buffers and values.
    """

    def __init__(self, plan: CasePlan, bind: Callable[[Launch], Call]) -> None:
        self._bind = bind
        self._draw = plan.draw
        self._calls = [bind(launch.at(plan.draw)) for launch in plan.launches]
        self._redrawn = [(i, one) for i, one in enumerate(plan.launches) if one.redrawn]

    def calls(self, draw: int) -> Sequence[Call]:
        """The calls for one draw; valid until another is asked for."""
        if draw != self._draw:
            for index, launch in self._redrawn:
                self._calls[index] = self._bind(launch.at(draw))
            self._draw = draw
        return self._calls
