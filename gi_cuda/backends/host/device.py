"""The host back end's device: a CPU that runs kernels block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.host.library import build_library
from gi_cuda.backends.host.placement import Reserved, elsewhere
from gi_cuda.backends.host.runtime import (
    BoundLaunch,
    Deadlock,
    HostLaunchError,
    LoadedKernel,
    Overrun,
    Runtime,
    Shard,
)
from gi_cuda.backends.protocol.device import (
    POISON,
    Bindings,
    LaunchCrashed,
    LaunchHung,
    LaunchRefused,
)
from gi_cuda.backends.protocol.device_lock import WorkerSlot
from gi_cuda.backends.protocol.requests import CasePlan, Outputs
from gi_cuda.backends.protocol.variants import Binary
from gi_cuda.spec import Argument, BufferRole, CaseData, Launch, Target, Texture
from gi_cuda.spec.kernel_names import identifier


@cache
def _pattern(size: int) -> NDArray[np.uint8]:
    """So many bytes of poison."""
    return np.resize(np.array([POISON], np.uint32).view(np.uint8), size)


@dataclass(slots=True)
class HostProgram:
    """A loaded shard and the calls that were bound to it, by case.

    Attributes:
        lender: the reference's, where the variant is lent some of its kernels.
    """

    binary: Binary
    shard: Shard
    lender: HostProgram | None = None
    calls: dict[str, Bindings[BoundLaunch]] = field(default_factory=dict)

    def holder(self, name: str) -> tuple[Shard, str]:
        """The shard that has a kernel or variable of the variant, and whose it is there."""
        if self.lender is not None and identifier(name) in self.binary.lent:
            return self.lender.holder(name)
        return self.shard, self.binary.namespace


class HostDevice:
    """Buffers between guard pages, kernels on fibres, thread CPU time.

    A hang dies by SIGPROF and a crash by its own signal; both are the end of the process.

    Args:
        target: what is run.
        cases: its cases by name.
        slot: this process's among the workers.
    """

    def __init__(self, target: Target, cases: Mapping[str, CaseData], slot: WorkerSlot) -> None:
        self._target = target
        self._cases = cases
        self._place = Reserved()  # what is mapped from now on lies elsewhere in each process
        self._runtime = Runtime(build_library())
        self._runtime.report(slot.words)
        self._buffers: dict[tuple[str, str, int], NDArray[Any]] = {}
        self._textures: dict[tuple[str, Texture], np.uint64] = {}

    def allow(self, grace: float) -> None:
        """Crashes are reported at once here."""

    def turn(self) -> AbstractContextManager[None]:
        """Nothing is shared: every worker runs on a processor of its own."""
        return nullcontext()

    def load(self, binary: Binary) -> HostProgram:
        """Load the shared library that holds a variant.

        Raises:
            LaunchRefused: it cannot be loaded.
        """
        return self._loaded(binary, nullcontext(binary.path))

    def load_elsewhere(self, binary: Binary) -> HostProgram:
        """Load a copy of the shared library that holds a variant, into a random place.

        Raises:
            LaunchRefused: it cannot be copied or loaded.
        """
        return self._loaded(binary, elsewhere(binary.path))

    def _loaded(self, binary: Binary, library: AbstractContextManager[Path]) -> HostProgram:
        try:
            lender = self.load(binary.lender) if binary.lender else None
            with library as path:
                return HostProgram(binary, Shard(path), lender)
        except OSError as error:
            raise LaunchRefused(f"the shared library cannot be loaded: {error}") from None

    def unload(self, loaded: HostProgram) -> None:
        """Close a variant's library."""
        loaded.calls.clear()
        loaded.shard.close()
        if loaded.lender is not None:
            self.unload(loaded.lender)

    def make_room(self, plan: CasePlan) -> None:
        """Make and fill the buffers of a case, if that was not done before."""
        for buffer in self._target.buffers:
            self._buffer(plan, buffer.name)

    def prepare(self, plan: CasePlan) -> None:
        """Restore inputs, poison outputs and scratch buffers."""
        case = self._cases[plan.case]
        for buffer in self._target.buffers:
            array = self._buffer(plan, buffer.name)
            if buffer.role is BufferRole.INOUT:
                array[:] = case.buffers[buffer.name]
            elif not buffer.role.given:
                array.view(np.uint8)[:] = _pattern(array.nbytes)

    def run(self, loaded: HostProgram, plan: CasePlan, limit: float) -> float:
        """Run the launches of a plan; seconds of this thread's CPU time.

        Raises:
            LaunchRefused: geometry or arguments that no device would take.
        """
        bindings = loaded.calls.get(plan.case)
        if bindings is None:
            bindings = loaded.calls[plan.case] = self._bind(loaded, plan)
        calls = bindings.calls(plan.draw)
        symbols = self._symbols(loaded, plan)
        for array, memory in symbols:
            memory[:] = array
        self._runtime.limit(limit)
        try:
            return sum(self._runtime.run(call) for call in calls)
        except Deadlock as error:
            raise LaunchHung(str(error)) from None
        except Overrun as error:
            raise LaunchCrashed(str(error)) from None
        except HostLaunchError as error:
            raise LaunchRefused(str(error)) from None
        finally:
            for array, memory in symbols:
                array[:] = memory

    @contextmanager
    def backwards(self) -> Iterator[bool]:
        """Inside, the last thread of the last block is the first to run."""
        with self._runtime.backwards():
            yield True

    def run_round(
        self, programs: Sequence[tuple[HostProgram, CasePlan]], limit: float
    ) -> list[float]:
        """Prepare and run several in turn; seconds of each.

        Raises:
            LaunchRefused: see :meth:`run`.
        """
        seconds = []
        for loaded, plan in programs:
            self.prepare(plan)
            seconds.append(self.run(loaded, plan, limit))
        return seconds

    def _symbols(
        self, loaded: HostProgram, plan: CasePlan
    ) -> list[tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
        """The buffers that are variables of the source: what they hold, and where they are."""
        found = []
        for buffer in self._target.buffers:
            if buffer.symbol is None:
                continue
            array = self._buffer(plan, buffer.name).view(np.uint8)
            shard, variant = loaded.holder(buffer.symbol)
            memory = shard.symbol(variant, buffer.symbol)
            if array.size > memory.size:
                raise LaunchRefused(
                    f"the variable {buffer.symbol} has {memory.size} bytes, and the buffer"
                    f" {buffer.name} {array.size}"
                )
            found.append((array, memory[: array.size]))
        return found

    def _bind(self, loaded: HostProgram, plan: CasePlan) -> Bindings[BoundLaunch]:
        kernels: dict[str, LoadedKernel] = {}

        def call(launch: Launch) -> BoundLaunch:
            if launch.kernel not in kernels:
                shard, variant = loaded.holder(launch.kernel)
                kernels[launch.kernel] = shard.kernel(variant, launch.kernel)
            arguments = [self._argument(plan, argument) for argument in launch.args]
            try:
                return self._runtime.call(
                    kernels[launch.kernel], arguments, launch.grid, launch.block, launch.shared
                )
            except HostLaunchError as error:
                raise LaunchRefused(str(error)) from None

        return Bindings(plan, call)

    def _argument(self, plan: CasePlan, argument: Argument) -> NDArray[Any] | np.generic:
        if isinstance(argument, str):
            return self._buffer(plan, argument)
        if isinstance(argument, Texture):
            return self._texture(plan, argument)
        assert isinstance(argument, np.generic), "launches are bound for one draw"
        return argument

    def _texture(self, plan: CasePlan, texture: Texture) -> np.uint64:
        """The object of a texture; an input has one memory for all variants of a case."""
        key = (plan.case, texture)
        if key not in self._textures:
            self._textures[key] = self._runtime.texture(
                texture.name,
                self._buffer(plan, texture.buffer),
                texture.dtype,
                texture.components,
                normalized=texture.normalized,
            )
        return self._textures[key]

    def _buffer(self, plan: CasePlan, name: str) -> NDArray[Any]:
        """The memory of a buffer; made and, for inputs, filled when it is first asked for."""
        key = (plan.case, name, plan.sizes[name])
        if key not in self._buffers:
            buffer = next(b for b in self._target.buffers if b.name == name)
            array = self._runtime.alloc(name, buffer.dtype, plan.sizes[name])
            if buffer.role.given:
                array[:] = self._cases[plan.case].buffers[name]
            self._buffers[key] = array
        return self._buffers[key]

    def outputs(self, plan: CasePlan) -> Outputs:
        """What the launches wrote; views, valid until the next launch."""
        return {
            buffer.name: self._buffer(plan, plan.storage[buffer.name])
            for buffer in self._target.buffers
            if buffer.role.judged
        }

    def look(self, plan: CasePlan, expected: Outputs) -> tuple[list[str], bool]:
        """What was written to and must not be, and whether the launches wrote exactly what is
        expected, bit for bit."""
        agrees = all(
            array.nbytes == expected[name].nbytes
            and np.array_equal(array.view(np.uint8), expected[name].view(np.uint8))
            for name, array in self.outputs(plan).items()
        )
        return self.damaged(plan), agrees

    def damaged(self, plan: CasePlan) -> list[str]:
        """Names of the read-only inputs that were written to; they are mended."""
        names = []
        for buffer in self._target.buffers:
            if buffer.role is not BufferRole.INPUT:
                continue
            array, pristine = self._buffer(plan, buffer.name), self._cases[plan.case].buffers
            if not np.array_equal(array.view(np.uint8), pristine[buffer.name].view(np.uint8)):
                names.append(buffer.name)
                array[:] = pristine[buffer.name]
        return names

    def fate(self) -> None:
        """Nothing is confined here: a worker is cheap to replace."""

    @contextmanager
    def counting(self, loaded: HostProgram, loops: int) -> Iterator[Callable[[], Sequence[int]]]:
        """While an instrumented variant runs inside: asks for the most iterations of each loop."""
        with self._runtime.loops(loops) as most:
            yield lambda: [int(count) for count in most]
