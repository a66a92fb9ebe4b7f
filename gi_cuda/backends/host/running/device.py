"""The host back end's device: a CPU that runs kernels block by block."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.host.build.library import build_library
from gi_cuda.backends.host.running.isolation import isolate
from gi_cuda.backends.host.running.placement import Reserved, elsewhere
from gi_cuda.backends.host.running.program import HostProgram
from gi_cuda.backends.host.running.runtime import (
    BadLaunch,
    BadMask,
    BoundLaunch,
    Deadlock,
    HostLaunchError,
    Overrun,
    Runtime,
    as_bytes,
    poison,
)
from gi_cuda.backends.host.running.shard import LoadedKernel
from gi_cuda.backends.host.running.variables import Libraries
from gi_cuda.backends.protocol.agreement import same_bytes
from gi_cuda.backends.protocol.device import (
    Bindings,
    LaunchCrashed,
    LaunchHung,
    LaunchRefused,
    Timed,
    TimedRun,
    Verified,
)
from gi_cuda.backends.protocol.device_lock import WorkerSlot
from gi_cuda.backends.protocol.programs import CasePlan, Outputs
from gi_cuda.backends.protocol.requests import Beyond
from gi_cuda.backends.protocol.schedules import Schedule
from gi_cuda.backends.protocol.undefined import undefined
from gi_cuda.backends.protocol.variants import Binary
from gi_cuda.spec import Argument, Buffer, BufferRole, CaseData, Launch, Packed, Target, View
from gi_cuda.spec.case_data.addresses import addressed, numbered
from gi_cuda.spec.oracles import Rules

_MASKS: Final = (
    "mend the mask, or have it done as devices do, by the threads that are at this line together:"
    ' write a table [warps] with masks = "device" into target.toml'
)


def _key(plan: CasePlan, name: str) -> tuple[str, str, int]:
    """Return the key of a buffer's memory: the case, the name, the number of elements."""
    return plan.case, name, plan.sizes[name]


class HostDevice:
    """Buffers between guard pages, threads as fibres, times as CPU time.

    A hang ends the process by SIGPROF, a crash by its own signal.

    Args:
        target: the target.
        cases: its cases by name.
        slot: this process's slot among the workers.
    """

    def __init__(self, target: Target, cases: Mapping[str, CaseData], slot: WorkerSlot) -> None:
        self._target = target
        self._cases = cases
        self._place = Reserved()  # later mappings are at addresses that differ between processes
        self._runtime = Runtime(build_library())
        self._runtime.report(slot.words)
        if target.warps.masks == "device":
            self._runtime.take_masks_as_devices()
        self._libraries = Libraries()
        self._buffers: dict[tuple[str, str, int], NDArray[Any]] = {}
        self._views: dict[tuple[str, View, int], np.uint64] = {}
        self._addressed: dict[tuple[str, str, tuple[int, ...]], NDArray[Any]] = {}
        self._schedule: Schedule | None = None
        self._natural: Collection[str] = ()

    def close(self) -> None:
        """Do nothing: the process's end frees everything."""

    def sample(self, threads: int) -> None:
        """Run only a sample of the blocks of each later launch."""
        self._runtime.sample(threads)

    def isolate(self, readable: Sequence[Path], secret: Sequence[NDArray[Any]]) -> None:
        """Isolate this process as far as the system allows."""
        self._runtime.secret = secret
        isolate(readable)

    def turn(self) -> AbstractContextManager[None]:
        """Return an empty context: every worker runs on a processor of its own."""
        return nullcontext()

    def load(self, binary: Binary) -> HostProgram:
        """Load the shared library that holds a variant.

        Raises:
            LaunchRefused: it cannot be loaded.
        """
        return self._loaded(binary, nullcontext)

    def load_elsewhere(self, binary: Binary) -> HostProgram:
        """Load a copy of the shared library that holds a variant, at a random address.

        Raises:
            LaunchRefused: it cannot be copied or loaded.
        """
        return self._loaded(binary, elsewhere)

    def _loaded(
        self, binary: Binary, library: Callable[[Path], AbstractContextManager[Path]]
    ) -> HostProgram:
        """Load a variant with its parts.

        Args:
            library: gives the path from which a file is loaded.
        """
        try:
            lender = self.load(binary.lender) if binary.lender else None
            parts = binary.of_parts(lambda one: self._loaded(one, library))
            with library(binary.path) as path:
                opened = self._libraries.open(path, binary.namespace)
            return HostProgram(binary, opened, lender, parts)
        except OSError as error:
            what = undefined(str(error)) or f"the shared library cannot be loaded: {error}"
            raise LaunchRefused(what) from None

    def unload(self, loaded: HostProgram) -> None:
        """Close a variant's library."""
        loaded.calls.clear()
        self._libraries.close(loaded.library)
        for one in loaded.others:
            self.unload(one)

    def make_room(self, plan: CasePlan) -> None:
        """Allocate and fill the buffers of a case, unless that was done before."""
        for buffer in self._target.buffers:
            self._buffer(plan, buffer.name)

    def make_ready(self, loaded: HostProgram, plan: CasePlan) -> None:
        """Make room for a case, and bind a variant to it.

        Raises:
            LaunchRefused: it lacks a kernel, or gets arguments that no device would accept.
        """
        self.make_room(plan)
        self._bound(loaded, plan)

    def prepare(self, plan: CasePlan) -> None:
        """Restore inputs, poison outputs and scratch buffers."""
        for buffer in self._target.buffers:
            new = _key(plan, buffer.name) not in self._buffers
            array = self._buffer(plan, buffer.name)
            if buffer.role is BufferRole.INOUT and not new:
                array[:] = self._given(plan, buffer)
            elif not buffer.role.given and not new:
                poison(array)

    def poison(self, plan: CasePlan, buffer: str) -> None:
        """Fill one scratch buffer with poison."""
        poison(self._buffer(plan, buffer))

    def put(self, plan: CasePlan, buffer: str, contents: NDArray[Any]) -> None:
        """Replace the contents of one input until it is mended."""
        self._buffer(plan, buffer)[:] = contents

    def run(
        self, loaded: HostProgram, plan: CasePlan, limit: float, *, keeping: bool = False
    ) -> float:
        """Run the launches of a plan. Return the seconds of this thread's CPU time.

        Raises:
            LaunchRefused: no device would accept geometry or arguments.
        """
        calls = self._bound(loaded, plan).calls(plan.draw)
        if not keeping:
            loaded.restore()
        symbols = self._symbols(loaded, plan)
        for array, memory in symbols:
            memory[:] = array
        if loaded.binary.chosen is not None:
            self._runtime.choose(loaded.binary.chosen)
        self._runtime.limit(limit)
        try:
            if self._schedule is None:
                return sum(self._runtime.run(call) for call in calls)
            return sum(self._run_scheduled(plan, *one) for one in enumerate(calls))
        except Deadlock as error:
            raise LaunchHung(str(error)) from None
        except Overrun as error:
            raise LaunchCrashed(str(error)) from None
        except BadMask as error:
            said = f"{error.kernel}, {error}; CUDA leaves open what that gives"
            raise LaunchRefused(said, hint=_MASKS, masked=True) from None
        except BadLaunch as error:
            raise LaunchRefused(f"kernel {error.kernel}: {error}") from None
        except HostLaunchError as error:
            raise LaunchRefused(str(error)) from None
        finally:
            for array, memory in symbols:
                array[:] = memory

    def _run_scheduled(self, plan: CasePlan, number: int, call: BoundLaunch) -> float:
        """Run a launch in the current thread order; each launch of a case gets another seed."""
        schedule = None if call.kernel.name in self._natural else self._schedule
        seed = crc32(f"{plan.case} {plan.draw} {number}".encode())
        with self._runtime.scheduled(schedule, seed):
            return self._runtime.run(call)

    @contextmanager
    def scheduled(self, schedule: Schedule, natural: Collection[str]) -> Iterator[bool]:
        """Run threads in a given order inside the context. See :meth:`.Device.scheduled`."""
        self._schedule, self._natural = schedule, natural
        try:
            yield True
        finally:
            self._schedule, self._natural = None, ()

    def giving(self) -> AbstractContextManager[Callable[[], Mapping[str, Beyond]]]:
        """Return a context in which accesses beside buffers find memory."""
        return self._runtime.giving()

    def run_round(self, runs: Sequence[TimedRun], limit: float) -> list[Timed]:
        """Prepare and run several variants in turn, and compare the outputs of each.

        Raises:
            LaunchRefused: see :meth:`run`.
        """
        done = []
        for one in runs:
            self.prepare(one.plan)
            seconds = self.run(one.loaded, one.plan, limit)
            done.append(
                Timed(
                    seconds,
                    one.expected is None or self.agrees(one.plan, one.expected, one.rules),
                )
            )
        return done

    def verify(self, runs: Sequence[TimedRun], limit: float) -> list[Verified]:
        """Prepare and run several in turn without confinement, and check what each wrote.

        Raises:
            LaunchRefused: see :meth:`run`.
        """
        verified = []
        for number, one in enumerate(runs, 1):
            self.prepare(one.plan)
            seconds = self.run(one.loaded, one.plan, limit)
            assert one.expected is not None, "what is verified is compared with something"
            right = self.agrees(one.plan, one.expected, one.rules)
            outputs = None if right else self.outputs(one.plan)
            seen = Verified(seconds, tuple(self.damaged(one.plan)), (), outputs)
            verified.append(seen if number == len(runs) else seen.kept())
        return verified

    def _symbols(
        self, loaded: HostProgram, plan: CasePlan
    ) -> list[tuple[NDArray[np.uint8], NDArray[np.uint8]]]:
        """Return contents and memory of each buffer that is a variable of the source."""
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

    def _bound(self, loaded: HostProgram, plan: CasePlan) -> Bindings[BoundLaunch]:
        if plan.case not in loaded.calls:
            loaded.calls[plan.case] = self._bind(loaded, plan)
        return loaded.calls[plan.case]

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
            return self._buffer(plan, argument).view(np.uint8)[plan.offsets.get(argument, 0) :]
        if isinstance(argument, View):
            return self._view(plan, argument)
        if isinstance(argument, Packed):
            return np.void(argument.bytes(lambda one: as_bytes(self._argument(plan, one))))
        assert isinstance(argument, np.generic), "launches are bound for one draw"
        return argument

    def _view(self, plan: CasePlan, view: View) -> np.uint64:
        """Return the object of a texture or surface, shared by all with the same size."""
        key = (plan.case, view, plan.sizes[view.buffer])
        if key not in self._views:
            self._views[key] = self._runtime.view(view, self._buffer(plan, view.buffer))
        return self._views[key]

    def _buffer(self, plan: CasePlan, name: str) -> NDArray[Any]:
        """Return the memory of a buffer; the first call makes it and fills inputs."""
        key = _key(plan, name)
        if key not in self._buffers:
            buffer = next(b for b in self._target.buffers if b.name == name)
            array = self._runtime.alloc(name, buffer.dtype, plan.sizes[name])
            self._buffers[key] = array
            if buffer.role.given:
                array[:] = self._given(plan, buffer)
        return self._buffers[key]

    def _given(self, plan: CasePlan, buffer: Buffer) -> NDArray[Any]:
        """Return a buffer's contents before a launch. No buffer moves: addresses are cached."""
        values = self._cases[plan.case].buffers[buffer.name]
        if not buffer.addresses:
            return values
        places = {name: self._address(plan, name) for name in buffer.addresses}
        key = (plan.case, buffer.name, tuple(places.values()))
        if key not in self._addressed:
            self._addressed[key] = addressed(self._target, buffer, values, places.__getitem__)
        return self._addressed[key]

    def _address(self, plan: CasePlan, name: str) -> int:
        """Return the address of a buffer's first element."""
        begin = plan.offsets.get(name, 0)
        return int(self._buffer(plan, name).__array_interface__["data"][0]) + begin

    def outputs(self, plan: CasePlan) -> Outputs:
        """Return views of the outputs that the launches wrote, valid until the next launch."""
        address = partial(self._address, plan)
        return {
            one.name: numbered(
                self._target, one, self._buffer(plan, plan.storage[one.name]), address
            )
            for one in self._target.buffers
            if one.role.judged
        }

    def agrees(self, plan: CasePlan, expected: Outputs, rules: Rules | None) -> bool:
        """Tell whether the launches wrote the expected outputs, or as good ones."""
        return all(
            array.nbytes == expected[name].nbytes
            and (
                same_bytes(array, expected[name])
                if rules is None
                else not any(
                    self._runtime.first_wrong(rule, array, expected[name]) is not None
                    for rule in rules[name]
                )
            )
            for name, array in self.outputs(plan).items()
        )

    def damaged(self, plan: CasePlan) -> list[str]:
        """Return the names of read-only inputs that were written, and mend them."""
        names = []
        for buffer in self._target.buffers:
            if buffer.role is not BufferRole.INPUT:
                continue
            array, pristine = self._buffer(plan, buffer.name), self._given(plan, buffer)
            if not same_bytes(array, pristine):
                names.append(buffer.name)
                array[:] = pristine
        return names

    @contextmanager
    def counting(self, loaded: HostProgram, loops: int) -> Iterator[Callable[[], Sequence[int]]]:
        """Give a function that returns the largest iteration count of each loop."""
        with self._runtime.loops(loops) as most:
            yield lambda: [int(count) for count in most]
