"""The interface of devices, and code that devices of all back ends share."""

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
"""Word that fresh buffers are filled with.

As float and double it is a quiet NaN, as int negative, as unsigned an index far beyond any buffer.
"""

UNSET = POISON + 1
"""The word that fills shared memory; as GI_UNSET of gi_runtime.hpp. With the same word as buffers,
``out[i] = shared[i]`` would leave an item as it was."""

_MARGINS = 32749
"""Number of different words that margins are filled with."""


def margin_of(name: str) -> int:
    """Return the word that fills the margins around a buffer, by the buffer's name.

    The value is similar to poison, and the same as in memory.cpp. It differs from what unwritten
    memory holds, and (except for one pair of names in :data:`_MARGINS`) from other buffers'
    margins. Otherwise ``b[n] = a[n]``, one item too far in both buffers, would leave a margin
    unchanged.
    """
    number = 2166136261  # FNV-1a: unlike hash(), the same in every process
    for byte in name.encode():
        number = (number ^ byte) * 16777619 % 2**32
    return POISON - 1 - number % _MARGINS


class LaunchRefused(Exception):
    """The device refuses a launch: wrong geometry, too much shared memory, a missing symbol.

    Args:
        message: the reason.
        where: file and line, if known.
        hint: what to do about it, if known.
        masked: whether the reason is that the mask of a warp function leaves out its caller.
        room: whether the reason is that other workers' memory leaves too little on the device.
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
    """A launch can never end. The worker must not be used any more."""


class LaunchCrashed(Exception):
    """A launch did damage beyond its own buffers. The worker must not be used any more."""


@dataclass(frozen=True, slots=True)
class Fate:
    """The way in which confined launches would have failed if they had not been confined.

    Attributes:
        kind: one word for it.
        survival: whether the worker would have survived.
        message: description for users.
    """

    kind: str
    survival: Survival
    message: str


Loaded: TypeAlias = Any
"""A loaded binary. Only the device that loaded it looks into it."""


@dataclass(frozen=True, slots=True)
class TimedRun:
    """A run to be timed or verified.

    Attributes:
        loaded: the variant.
        plan: how the variant runs a case.
        expected: the outputs that it gave when it was verified, or has to give, in memory layout;
            None if its outputs are not compared.
        rules: rules by which other outputs are as good; without them only the same bits are.
    """

    loaded: Loaded
    plan: CasePlan
    expected: Outputs | None = None
    rules: Rules | None = None


@dataclass(frozen=True, slots=True)
class Timed:
    """The result of a timed run.

    Attributes:
        seconds: time on the device's clock.
        agrees: whether the outputs are the expected ones, or as good by the rules.
    """

    seconds: float
    agrees: bool


@dataclass(frozen=True, slots=True)
class Part:
    """A section of an output that contains the first wrong value.

    Attributes:
        buffer: name of the output.
        first: index of the first value of the section.
        values: the values.
    """

    buffer: str
    first: int
    values: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of a verified run.

    Attributes:
        seconds: time on the device's clock.
        damaged: names of the memory that it wrote to but must not.
        fates: failures that confinement or loop guards prevented, the decisive one first; empty if
            there were none.
        outputs: what it wrote, if nothing is damaged and the device does not know the outputs to be
            right; valid until the next launch.
        part: a section of the outputs, in place of ``outputs``, if they are large and a value is
            wrong by the rules.
    """

    seconds: float
    damaged: tuple[str, ...]
    fates: tuple[Fate, ...]
    outputs: Outputs | None
    part: Part | None = None

    def kept(self) -> Verified:
        """Return a copy whose outputs stay valid."""
        outputs, part = self.outputs, self.part
        if outputs is not None:
            outputs = {name: np.copy(array) for name, array in outputs.items()}
        if part is not None:
            part = replace(part, values=np.copy(part.values))
        return replace(self, outputs=outputs, part=part)


class Device(Protocol):
    """The device of one worker. Every method may kill the whole process; callers expect that."""

    def close(self) -> None:
        """Free the device's resources. Not needed in processes that are killed."""

    def sample(self, threads: int) -> None:
        """Run only a sample of the blocks of each later launch, see :class:`.Session`.

        Raises:
            NotImplementedError: this device always runs all blocks.
        """

    def isolate(self, readable: Sequence[Path], secret: Sequence[NDArray[Any]]) -> None:
        """Isolate this process until it ends, if kernels could reach more than their buffers.

        Args:
            readable: folders that binaries come from.
            secret: arrays that no kernel may read.
        """

    def turn(self) -> AbstractContextManager[None]:
        """Return a context in which no other worker of the pool uses the shared device.

        Code that launches or times variants runs inside.
        """

    def load(self, binary: Binary) -> Loaded:
        """Load a variant."""

    def load_elsewhere(self, binary: Binary) -> Loaded:
        """Load a variant, which may be loaded already, into memory of its own."""

    def unload(self, loaded: Loaded) -> None:
        """Forget a variant and free its resources."""

    def make_room(self, plan: CasePlan) -> None:
        """Allocate and fill the buffers of a case, unless that was done before.

        Raises:
            LaunchRefused: there is not enough memory.
        """

    def make_ready(self, loaded: Loaded, plan: CasePlan) -> None:
        """Do everything that would delay a variant's first run on a case.

        Raises:
            LaunchRefused: there is not enough memory, or the variant cannot run.
        """

    def prepare(self, plan: CasePlan) -> None:
        """Restore inputs, and poison outputs and scratch buffers."""

    def poison(self, plan: CasePlan, buffer: str) -> None:
        """Fill one scratch buffer, which is no variable of the source, with poison."""

    def put(self, plan: CasePlan, buffer: str, contents: NDArray[Any]) -> None:
        """Replace the contents of one input, which is no variable of the source.

        The contents stay until :meth:`damaged` mends the input.
        """

    def run(self, loaded: Loaded, plan: CasePlan, limit: float, *, keeping: bool = False) -> float:
        """Run the launches of a plan and return the seconds on the device's clock.

        Variables of the source are reset first, unless ``keeping``.

        If the launches take much longer than ``limit`` seconds, the process ends as hung. Confined
        launches end by themselves instead, and report a fate.
        """

    def scheduled(
        self, schedule: Schedule, natural: Collection[str]
    ) -> AbstractContextManager[bool]:
        """Return a context in which launches run blocks and threads in a given order.

        Args:
            schedule: the order.
            natural: kernels that keep the natural order.

        Returns:
            A context that gives False if the device cannot choose the order.
        """

    def giving(self) -> AbstractContextManager[Callable[[], Mapping[str, Beyond]]]:
        """Return a context in which accesses beside buffers find memory, if the device can do that.

        It gives a function that returns how far from each buffer accesses went.
        """

    def run_round(self, runs: Sequence[TimedRun], limit: float) -> list[Timed]:
        """Prepare and run several variants in turn, and compare the outputs of each.

        The device need not wait for Python between the runs.
        """

    def verify(self, runs: Sequence[TimedRun], limit: float) -> list[Verified]:
        """Prepare and run several variants in turn, and check all that each wrote.

        Damage is mended before the next variant runs. The device need not wait for Python between
        the runs.
        """

    def outputs(self, plan: CasePlan) -> Outputs:
        """Return the outputs that the launches wrote."""

    def agrees(self, plan: CasePlan, expected: Outputs, rules: Rules | None) -> bool:
        """Tell whether the launches are known to have written expected or as good outputs.

        See :class:`TimedRun`.
        """

    def damaged(self, plan: CasePlan) -> list[str]:
        """Return names of wrongly written memory: read-only inputs, memory around buffers.

        All of it is mended.
        """

    def counting(
        self, loaded: Loaded, loops: int
    ) -> AbstractContextManager[Callable[[], Sequence[int]]]:
        """Return a context in which an instrumented variant runs.

        It gives a function that returns the largest number of iterations of each loop.
        """


class Solid:
    """Base class of devices that run all blocks and give no memory beside buffers."""

    def sample(self, threads: int) -> None:
        """Raise NotImplementedError."""
        raise NotImplementedError("this device runs all blocks of a launch")

    def giving(self) -> AbstractContextManager[Callable[[], Mapping[str, Beyond]]]:
        """Return a context that changes nothing and reports no accesses."""
        return nullcontext(dict)


DeviceMaker: TypeAlias = Callable[[Target, Mapping[str, CaseData], WorkerSlot], Device]
"""Function that makes the device of the worker in a slot, for a target and its cases."""


Call = TypeVar("Call")


class Bindings(Generic[Call]):
    """The launches of a plan as calls of a device.

    Launches that take a redrawn scalar are bound again for each draw.

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
        """Return the calls for one draw; valid until the next call of this method."""
        if draw != self._draw:
            for index, launch in self._redrawn:
                self._calls[index] = self._bind(launch.at(draw))
            self._draw = draw
        return self._calls
