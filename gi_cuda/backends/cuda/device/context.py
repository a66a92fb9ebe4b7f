"""A worker's CUDA context: modules, launches, waiting with a limit, and exits on faults.

A hung kernel cannot be stopped, and an illegal access makes the context unusable. So both end the
process, with a last message; the pool starts another one.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

from gi_cuda.backends.cuda.device import cooperative
from gi_cuda.backends.protocol.device import LaunchRefused
from gi_cuda.backends.protocol.device_lock import WorkerSlot
from gi_cuda.backends.protocol.session import CRASHED_STATUS, HUNG_STATUS, last_words
from gi_cuda.errors import NoRoom, UserError

MODULES = 48
"""Number of cubins that stay loaded. Variants of one shard come one after another, those of several
shards are mixed, and each may have parts in several."""

SPIN = 2e-4
"""Seconds of polling without a pause, then with pauses of ``NAP``; most kernels end within."""

NAP = 2e-5

WINDOW = 256
"""Number of launches between two events in the stream."""

MOST_AHEAD = 512
"""Number of launches that may wait in the stream. Beyond about 1000 the driver blocks the caller,
and hangs could not be detected."""

_LARGE_SHARED = 48 * 1024
"""Bytes of dynamic shared memory above which a kernel must opt in."""

REPORT = 0.15
"""Seconds past its limit in which a launch may still turn out to have crashed.

The driver takes this long to report an illegal access, which looks like a hang until then. Or the
launch may end, if something else kept the device busy.
"""

PATIENCE = 10.0
"""Seconds that copies and the tool's own kernels may take."""


def pycuda() -> Any:
    """Return PyCUDA's driver module. Loading it touches no device, so it can be done before a fork.

    Raises:
        UserError: it is not installed, or does not find the driver.
    """
    try:
        import pycuda.driver
    except ImportError as error:
        raise UserError(
            f"PyCUDA cannot be loaded: {error}",
            hint="install it with `pip install 'gi-cuda[cuda]'`; see `gi-cuda doctor`",
        ) from None
    return pycuda.driver


@dataclass(frozen=True, slots=True)
class BoundLaunch:
    """A launch with all its arguments.

    Attributes:
        cooperative: the driver's handle of the function, for a cooperative launch.
    """

    function: Any
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    arguments: bytes
    cooperative: int | None = None


class Context:
    """A context on the first device with one stream. Its methods may end this process.

    Args:
        slot: this process's slot among those that share the device.

    Attributes:
        suspect: number of the variant whose launch is waited for; it is part of the last message.
        several: whether several variants' launches are running, so that a crash may be due to any.

    Raises:
        UserError: there is no PyCUDA, no driver, no device, or it gives no context.
    """

    def __init__(self, slot: WorkerSlot) -> None:
        self.drv = pycuda()
        self.slot = slot
        self.suspect: int | None = None
        self.several = False
        # This suffices for one stream, and halves the time to make a context.
        os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "1")
        try:
            self.drv.init()
            self.device = self.drv.Device(0)
            self._context = self.device.make_context()
        except self.drv.Error as error:
            full = isinstance(error, self.drv.MemoryError)
            raise (NoRoom if full else UserError)(
                f"the device gives no context: {error}", hint="see `gi-cuda doctor`"
            ) from None
        slot.lock.share(f"gpu-{self.device.pci_bus_id()}")
        self.stream = self.drv.Stream()
        self._mark = self.event()
        self._marks: list[Any] = []
        self._modules: OrderedDict[tuple[str, int, int], Any] = OrderedDict()

    def close(self) -> None:
        """Destroy the context. Only needed in processes that go on afterwards."""
        self._modules.clear()
        self._marks.clear()
        self._context.pop()
        self._context.detach()

    def event(self) -> Any:
        """Return a new event."""
        return self.drv.Event()

    def attribute(self, name: str, default: int) -> int:
        """Return an attribute of the device; the default if PyCUDA does not know its name."""
        which = getattr(self.drv.device_attribute, name, None)
        return default if which is None else int(self.device.get_attribute(which))

    @property
    def architecture(self) -> str:
        """Architecture name of this device for nvcc."""
        major, minor = self.device.compute_capability()
        return f"sm_{major}{minor}"

    # -- modules -----------------------------------------------------------------------------

    def module(self, path: Path) -> Any:
        """Return a loaded cubin; the last few stay loaded.

        Raises:
            LaunchRefused: it cannot be read, or is not for this device.
        """
        try:
            stat = path.stat()
            key = (str(path), stat.st_mtime_ns, stat.st_ino)
            if key in self._modules:
                self._modules.move_to_end(key)
                return self._modules[key]
        except OSError as error:
            raise LaunchRefused(f"the cubin cannot be read: {error}") from None
        module = self._modules[key] = self.new_module(path)
        while len(self._modules) > MODULES:
            self._modules.popitem(last=False)
        return module

    def new_module(self, path: Path) -> Any:
        """Load a cubin, even if it is loaded already.

        Raises:
            LaunchRefused: see :meth:`module`.
        """
        try:
            return self.drv.module_from_buffer(path.read_bytes())
        except OSError as error:
            raise LaunchRefused(f"the cubin cannot be read: {error}") from None
        except self.drv.Error as error:
            self.check()
            raise LaunchRefused(
                f"the cubin cannot be loaded on {self.architecture}: {error}"
            ) from None

    def function(self, module: Any, symbol: str, shared: int) -> Any:
        """Return a kernel of a module, and allow it its dynamic shared memory.

        Raises:
            LaunchRefused: it does not exist, or needs too much.
        """
        try:
            function = module.get_function(symbol)
            # This makes the driver load it now. At the first launch, loading would wait for the
            # device, where a hung kernel would block it for ever.
            function.get_attribute(self.drv.function_attribute.NUM_REGS)
            if shared > _LARGE_SHARED:
                which = self.drv.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
                function.set_attribute(which, shared)
        except self.drv.Error as error:
            self.check()
            raise LaunchRefused(
                f"the kernel {symbol} with {shared} bytes of dynamic shared memory: {error}"
            ) from None
        return function

    # -- memory ------------------------------------------------------------------------------

    def allocate(self, what: str, size: int) -> Any:
        """Allocate device memory; it is freed when the result is dropped.

        Args:
            what: its use, for messages.
            size: bytes.

        Raises:
            LaunchRefused: there is too little.
        """
        try:
            return self.drv.mem_alloc(size)
        except self.drv.Error as error:
            self.check()
            free, total = self.drv.mem_get_info()
            raise LaunchRefused(
                f"the device has no {size / 2**20:.1f} MiB for {what}:"
                f" {free / 2**20:.0f} of {total / 2**20:.0f} MiB are free ({error})",
                room=True,
            ) from None

    # -- launches ----------------------------------------------------------------------------

    def launch(
        self,
        function: Any,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: bytes,
        shared: int = 0,
    ) -> None:
        """Put a launch into the stream.

        Raises:
            LaunchRefused: the device refuses it.
        """
        try:
            function._launch_kernel(grid, block, arguments, shared, self.stream)
        except self.drv.Error as error:
            self.check()
            raise LaunchRefused(str(error)) from None

    def cooperative(self, call: BoundLaunch) -> BoundLaunch:
        """Return a launch as a cooperative one, whose blocks all run at the same time.

        Raises:
            LaunchRefused: the driver refuses it.
        """

        def captured() -> None:
            self.launch(call.function, call.grid, call.block, call.arguments, call.shared)

        try:
            return replace(call, cooperative=cooperative.handle(captured, self.stream))
        except cooperative.CooperativeError as error:
            self.check()
            raise LaunchRefused(str(error)) from None

    def _launch_bound(self, call: BoundLaunch) -> None:
        geometry = call.grid, call.block
        if call.cooperative is None:
            self.launch(call.function, *geometry, call.arguments, call.shared)
            return
        try:
            cooperative.launch(
                call.cooperative, *geometry, call.shared, call.arguments, self.stream
            )
        except cooperative.CooperativeError as error:
            self.check()
            raise LaunchRefused(f"{error}: its blocks have to run at a time") from None

    def launch_all(self, calls: Sequence[BoundLaunch], limit: float) -> None:
        """Launch in order, never so far ahead that the driver would block this process."""
        ahead: deque[Any] = deque()
        for number, call in enumerate(calls, 1):
            self._launch_bound(call)
            if number % WINDOW == 0:
                mark = self._marks.pop() if self._marks else self.event()
                mark.record(self.stream)
                ahead.append(mark)
                if len(ahead) * WINDOW > MOST_AHEAD:
                    oldest = ahead.popleft()
                    self.wait(oldest, limit)
                    self._marks.append(oldest)
        self._marks.extend(ahead)

    def wait(self, event: Any, limit: float) -> None:
        """Wait for an event. Well past ``limit`` seconds, this process ends as hung.

        While the system cleans up after another process, nothing is over its limit.
        """
        begun = time.perf_counter()
        while True:
            # Read the clock before the event: a process that did not run for a while has not hung.
            spent = time.perf_counter() - begun
            try:
                if event.query():
                    return
            except self.drv.Error as error:
                self.crashed(str(error))
            if spent > limit and self.slot.lock.disturbed():
                begun = time.perf_counter()
            elif spent > limit + REPORT:
                self.hung(limit)
            if spent > SPIN:
                time.sleep(NAP)

    def settle(self) -> None:
        """Wait for everything in the stream, which must be the tool's own work."""
        self._mark.record(self.stream)
        self.wait(self._mark, PATIENCE)

    # -- the end -----------------------------------------------------------------------------

    def check(self) -> None:
        """Check that the context still works; end this process if not."""
        try:
            self.stream.is_done()
        except self.drv.Error as error:
            self.crashed(str(error))

    def hung(self, limit: float) -> NoReturn:
        """End this process: the launch cannot be stopped otherwise, and would block the device."""
        self._die(f"over its time limit of {limit:g} s", HUNG_STATUS)

    def crashed(self, message: str) -> NoReturn:
        """End this process: its context is unusable."""
        if self.several:
            self.suspect = None
        self._die(message, CRASHED_STATUS)

    def _die(self, message: str, status: int) -> NoReturn:
        self.slot.lock.leave(self.slot.number)
        os.write(self.slot.words, last_words(message, self.suspect))
        os._exit(status)
