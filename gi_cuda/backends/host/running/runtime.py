"""Python interface of the host runtime: buffers and launches."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gi_cuda.backends.host.running.shard import Array, LoadedKernel, closed, memory_at
from gi_cuda.backends.host.running.textures import HostTexture
from gi_cuda.backends.protocol.agreement import packed, values
from gi_cuda.backends.protocol.device import POISON
from gi_cuda.backends.protocol.requests import Beyond
from gi_cuda.backends.protocol.schedules import Schedule
from gi_cuda.spec import View
from gi_cuda.spec.oracles import ValueRule

Argument: TypeAlias = Array | np.generic


class HostLaunchError(Exception):
    """A launch failed; the process can still be used.

    Args:
        message: the reason.
        kernel: the kernel's name; "" if it is not known.
    """

    def __init__(self, message: str, kernel: str = "") -> None:
        super().__init__(message)
        self.kernel = kernel


class BadLaunch(HostLaunchError):
    """A device would refuse the launch: invalid geometry, or arguments that do not fit."""


class Deadlock(HostLaunchError):
    """Threads wait at a barrier or in a warp function for others that never come."""


class BadMask(HostLaunchError):
    """A thread calls a warp function with a mask that leaves out the thread itself."""


class Overrun(HostLaunchError):
    """Bytes just beside a buffer were written, before its guard page begins."""


class BadFetch(HostLaunchError):
    """A fetch from an object that is no texture, or with another type than the texture's texels."""


_VALUE_ALIGNMENT: Final = 16

_loaded: dict[str, Path] = {}

_ERRORS: Final = {1: BadLaunch, 2: Deadlock, 3: BadMask, 4: Overrun, 5: BadFetch}

_ORDERS: Final = (None, *Schedule)
"""Thread orders in the order of ``gi_order``."""


@dataclass(frozen=True, slots=True)
class BoundLaunch:
    """A launch with all its arguments. It may run any number of times while its buffers exist."""

    kernel: LoadedKernel
    shared: int
    _memory: Any = field(repr=False)
    _pointers: Any = field(repr=False)
    _grid: Any = field(repr=False)
    _block: Any = field(repr=False)


class _Beyond(ctypes.Structure):
    """``gi_beyond``."""

    _fields_ = (
        ("before", ctypes.c_uint64),
        ("least", ctypes.c_uint64),
        ("most", ctypes.c_uint64),
    )


class Runtime:
    """The runtime library, loaded into this process. Only one thread may use it.

    Args:
        library: path from :func:`gi_cuda.backends.host.build.library.build_library`.

    Attributes:
        secret: arrays, mapped from files, that no launch can read.

    Raises:
        RuntimeError: this process has loaded another runtime library.
    """

    def __init__(self, library: Path) -> None:
        # Shards find the runtime's functions among the process's global names. With a second
        # library, they would still call the first one.
        first = _loaded.setdefault("library", library.resolve())
        if first != library.resolve():
            raise RuntimeError(f"this process runs kernels by {first}, so not by {library}")
        self._library = ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
        self._buffers: dict[int, Array] = {}
        self.secret: Sequence[Array] = ()
        self._nanoseconds = ctypes.c_uint64()
        api = self._library
        api.gi_launch.argtypes = [*[ctypes.c_void_p] * 4, ctypes.c_size_t, ctypes.c_void_p]
        api.gi_message.restype = ctypes.c_char_p
        api.gi_switches.restype = ctypes.c_uint64
        api.gi_limit.argtypes = [ctypes.c_double]
        api.gi_schedule.argtypes = [ctypes.c_int, ctypes.c_uint64]
        api.gi_sample_blocks.argtypes = [ctypes.c_uint64]
        api.gi_masks.argtypes = [ctypes.c_bool]
        api.gi_report.argtypes = [ctypes.c_int]
        api.gi_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t, ctypes.c_char_p]
        api.gi_alloc.restype = ctypes.c_void_p
        api.gi_free.argtypes = [ctypes.c_void_p]
        api.gi_gave.argtypes = [ctypes.c_uint, ctypes.c_void_p]
        api.gi_gave.restype = ctypes.c_char_p
        api.gi_texture_object.argtypes = [ctypes.c_void_p]
        api.gi_texture_object.restype = ctypes.c_uint64
        api.gi_first_wrong.argtypes = [ctypes.c_char_p, *[ctypes.c_void_p] * 2]
        api.gi_first_wrong.restype = ctypes.c_uint64

    def alloc(self, name: str, dtype: DTypeLike, count: int, alignment: int = 16) -> Array:
        """Return a poisoned buffer between two guard pages. Valid until :meth:`free`.

        It ends as near to the guard page as the alignment of its begin allows; the bytes in between
        are checked after each launch.

        Args:
            name: name for messages.
            dtype: type of an element.
            count: number of elements.
            alignment: alignment of the begin in bytes, a power of two.

        Raises:
            MemoryError: there is not enough memory.
        """
        kind = np.dtype(dtype)
        address = self._library.gi_alloc(kind.itemsize * count, alignment, name.encode())
        if not address:
            raise MemoryError(f"no memory for buffer {name}: {kind.itemsize * count} bytes")
        array = memory_at(address, kind, count)
        self._buffers[address] = array
        return array

    def free(self, array: Array) -> None:
        """Free a buffer. Neither the buffer nor views of it may be used any more."""
        address = _address(array)
        del self._buffers[address]
        self._library.gi_free(address)

    def view(self, view: View, array: Array) -> np.uint64:
        """Return a ``cudaTextureObject_t`` or ``cudaSurfaceObject_t`` of a buffer.

        It lives as long as the runtime.

        Args:
            view: the texture or surface, with types that a device supports, and not larger than the
                buffer.
            array: the buffer.

        Raises:
            MemoryError: there are more than a thousand already.
        """
        texture = HostTexture.of(view, _address(array), array.nbytes)
        made = self._library.gi_texture_object(ctypes.byref(texture))
        if not made:
            raise MemoryError(f"no room for the texture {view.of.name}")
        return np.uint64(made)

    def call(
        self,
        kernel: LoadedKernel,
        arguments: Sequence[Argument],
        grid: Sequence[int],
        block: Sequence[int],
        shared: int = 0,
    ) -> BoundLaunch:
        """Bind a launch.

        Args:
            kernel: the kernel to run.
            arguments: for each parameter, an array (passed as pointer) or a numpy scalar of its
                type.
            grid: number of blocks, one to three dimensions.
            block: number of threads, one to three dimensions.
            shared: bytes of dynamic shared memory.

        Raises:
            BadLaunch: number or sizes of the arguments differ from those of the kernel's
                parameters.
        """
        values = [as_bytes(argument) for argument in arguments]
        sizes = tuple(map(len, values))
        if sizes != kernel.sizes:
            raise BadLaunch(
                f"kernel {kernel.name} takes parameters of {_list(kernel.sizes)} bytes, "
                f"not of {_list(sizes)}"
            )
        memory, pointers = _pack(values)
        return BoundLaunch(
            kernel=kernel,
            shared=shared,
            _memory=memory,
            _pointers=pointers,
            _grid=(ctypes.c_uint * 3)(*_three(grid)),
            _block=(ctypes.c_uint * 3)(*_three(block)),
        )

    def run(self, call: BoundLaunch) -> float:
        """Run a launch to its end. Return the CPU time that it took, in seconds.

        Raises:
            HostLaunchError: one of its subclasses. A crash, or a launch beyond the limit, ends the
                process by its signal.
        """
        with closed(self.secret):
            status = self._library.gi_launch(
                call.kernel.address,
                call._pointers,
                call._grid,
                call._block,
                call.shared,
                ctypes.byref(self._nanoseconds),
            )
        if status:
            message = self._library.gi_message().decode(errors="replace")
            raise _ERRORS[status](message, call.kernel.name)
        return self._nanoseconds.value * 1e-9

    def limit(self, seconds: float) -> None:
        """Set the CPU time, for each launch, after which SIGPROF ends the process; 0: none."""
        self._library.gi_limit(seconds)

    def sample(self, threads: int) -> None:
        """Run only a sample of the blocks of each later launch.

        The grid is divided into equal parts, and two neighbouring blocks of each part run.

        Args:
            threads: number of threads, about, of the blocks that run; 0: all blocks run.
        """
        self._library.gi_sample_blocks(threads)

    def take_masks_as_devices(self) -> None:
        """Allow masks of warp functions that leave out the caller, in later launches.

        The threads that are at the same place together execute the function, as on devices.
        """
        self._library.gi_masks(True)

    @contextmanager
    def scheduled(self, schedule: Schedule | None, seed: int = 0) -> Iterator[None]:
        """Run blocks and threads in an order, inside the context; None: the natural order.

        Args:
            seed: seed of random orders.
        """
        self._library.gi_schedule(_ORDERS.index(schedule), seed)
        try:
            yield
        finally:
            self._library.gi_schedule(0, 0)

    def report(self, descriptor: int) -> None:
        """Write a line to a descriptor before a signal (SIGSEGV, ...) ends the process.

        It says what happened, at which buffer, in which thread. The signal then has its default
        effect.
        """
        self._library.gi_report(descriptor)

    @contextmanager
    def giving(self) -> Iterator[Callable[[], dict[str, Beyond]]]:
        """Let accesses beside buffers find memory, inside the context.

        It gives a function that returns the accesses beside each buffer since it was made; buffers
        without such accesses are left out.
        """
        self._library.gi_give(1)
        try:
            yield lambda: dict(self._gave())
        finally:
            self._library.gi_give(0)

    def _gave(self) -> Iterator[tuple[str, Beyond]]:
        found = _Beyond()
        for index in itertools.count():
            name = self._library.gi_gave(index, ctypes.byref(found))
            if name is None:
                return
            if found.before or found.most:
                yield name.decode(), Beyond(found.before, found.least, found.most)

    def first_wrong(self, rule: ValueRule, got: Array, want: Array) -> int | None:
        """Return the index of the first value that a rule does not accept; None if there is none.

        Args:
            got, want: arrays of one size in memory layout.
        """
        known = packed(rule, got.nbytes)
        found = self._library.gi_first_wrong(known, _address(got), _address(want))
        return int(found) if found < values(known) else None

    def choose(self, number: int) -> None:
        """Select the variant that schemata run from now on."""
        ctypes.c_uint.in_dll(self._library, "gi_chosen").value = number

    @property
    def switches(self) -> int:
        """Number of fibre switches since the library was loaded."""
        return int(self._library.gi_switches())

    @contextmanager
    def loops(self, count: int) -> Iterator[NDArray[np.uint32]]:
        """Give the largest iteration counts of ``count`` loops since the context was entered."""
        most = ctypes.c_uint.in_dll(self._library, "gi_loop_most")
        view: NDArray[np.uint32] = memory_at(ctypes.addressof(most), np.dtype(np.uint32), count)
        view[:] = 0
        yield view


def poison(array: Array) -> None:
    """Fill a buffer with poison."""
    held = array.view(np.uint8)
    whole = held.size // 4 * 4
    held[:whole].view(np.uint32).fill(POISON)
    held[whole:] = np.array([POISON], np.uint32).view(np.uint8)[: held.size - whole]


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def as_bytes(argument: Argument) -> bytes:
    """Return the bytes that a kernel gets for an argument."""
    if isinstance(argument, np.ndarray):
        return np.uintp(_address(argument)).tobytes()
    return argument.tobytes()


def _pack(values: Sequence[bytes]) -> tuple[Any, Any]:
    """Return memory that holds the values, each aligned for any type, and pointers to them."""
    room = _VALUE_ALIGNMENT
    starts = [0]
    for value in values:
        starts.append(starts[-1] + -(-len(value) // room) * room)
    memory = ctypes.create_string_buffer(starts[-1] + room)
    base = -(-ctypes.addressof(memory) // room) * room
    for start, value in zip(starts, values, strict=False):
        ctypes.memmove(base + start, value, len(value))
    return memory, (ctypes.c_void_p * len(values))(*(base + start for start in starts[:-1]))


def _three(extents: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*extents, 1, 1, 1)[:3]
    if len(extents) > 3 or not all(0 < n < 2**32 for n in (x, y, z)):
        raise BadLaunch(f"{tuple(extents)} is no geometry: one to three positive numbers are")
    return x, y, z


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "no"
