"""Loaded shards of the host back end: their kernels, and the memory of their variables."""

from __future__ import annotations

import _ctypes
import ctypes
import mmap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gi_cuda.backends.host.build.static_shared import elf_of, shared_layout
from gi_cuda.backends.protocol.requests import STATIC_SHARED
from gi_cuda.spec.launching.kernel_names import identifier

Array: TypeAlias = NDArray[Any]

_LINK_MAP: Final = 2
"""``RTLD_DI_LINKMAP``: asks the loader for its record of a library, which begins with the
address."""


_NONE: Final = 0
"""``PROT_NONE``: memory that may not be accessed."""

_READ: Final = 1
"""``PROT_READ``."""

_system = ctypes.CDLL(None)


class _Signature(ctypes.Structure):
    _fields_ = (
        ("call", ctypes.c_void_p),
        ("count", ctypes.c_uint),
        ("sizes", ctypes.POINTER(ctypes.c_uint)),
    )


class _Shared(ctypes.Structure):
    _fields_ = (
        ("begin", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("before", ctypes.c_uint),
        ("behind", ctypes.c_uint),
        ("pages", ctypes.c_bool),
        ("name", ctypes.c_char * 64),
    )


class _Kernel(ctypes.Structure):
    _fields_ = (
        ("function", ctypes.c_void_p),
        ("signature", ctypes.POINTER(_Signature)),
        ("shared", ctypes.POINTER(_Shared)),
        ("shared_count", ctypes.c_uint),
        ("exported", ctypes.c_void_p),
    )


class _Symbol(ctypes.Structure):
    _fields_ = (("address", ctypes.c_void_p), ("bytes", ctypes.c_size_t))


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """A kernel of a loaded shard.

    Attributes:
        name: its exported name.
        sizes: sizes of its parameters in bytes.
        shared: bytes of its variant's static shared memory.
    """

    name: str
    sizes: tuple[int, ...]
    shared: int
    _kernel: _Kernel = field(repr=False)

    @property
    def address(self) -> int:
        """Address of its ``gi_kernel``."""
        return ctypes.addressof(self._kernel)


class Shard:
    """A shared library of compiled variants.

    Loading needs a :class:`~gi_cuda.backends.host.running.runtime.Runtime` in this process.

    Attributes:
        path: path of its file.
        elf: the file's contents when it was loaded; the same object for copies of the file.

    Raises:
        OSError: it cannot be loaded, e.g. since a function is declared but not defined; the message
            names the function.
    """

    def __init__(self, path: Path) -> None:
        # By default dlopen binds at once and keeps the names to itself.
        self._library = ctypes.CDLL(str(path.absolute()))
        self.path = path
        self.elf = elf_of(path)
        self._layout = shared_layout(self.elf)
        self._shared: dict[str, Any] = {}
        for offset, size in self._layout.closed:
            _system.mprotect(ctypes.c_void_p(self._base + offset), ctypes.c_size_t(size), _NONE)

    def kernel(self, variant: str, name: str) -> LoadedKernel:
        """Return the kernel that is exported under a name.

        Raises:
            KeyError: there is none.
        """
        found = self._find(_Kernel, f"gi_kernel_{variant}_{identifier(name)}")
        signature = found.signature.contents
        shared = self._open(variant)
        return LoadedKernel(
            name=name,
            sizes=tuple(signature.sizes[: signature.count]),
            shared=sum(one.bytes for one in shared),
            _kernel=_Kernel(
                found.function, found.signature, shared, len(shared), ctypes.addressof(found)
            ),
        )

    def _open(self, variant: str) -> Any:
        """Return a variant's static shared memory, and make it accessible."""
        if variant not in self._shared:
            arrays = self._layout.of(variant)
            shared = self._shared[variant] = (_Shared * len(arrays))()
            for memory, array in zip(shared, arrays, strict=True):
                memory.begin, memory.bytes = self._base + array.offset, array.bytes
                memory.before, memory.behind = array.room
                memory.pages, memory.name = (
                    array.guarded,
                    f"{STATIC_SHARED}{array.name}".encode()[:63],
                )
            if not _system.gi_open_shared(shared, len(shared)):
                raise OSError(ctypes.get_errno(), "static shared memory cannot be used")
        return self._shared[variant]

    def symbol(self, variant: str, name: str) -> NDArray[np.uint8]:
        """Return the memory of an exported ``__constant__`` or ``__device__`` variable, as bytes.

        Raises:
            KeyError: there is none.
        """
        found = self._find(_Symbol, f"gi_symbol_{variant}_{identifier(name)}")
        return memory_at(found.address, np.dtype(np.uint8), found.bytes)

    def memories(self, *places: tuple[int, int]) -> list[NDArray[np.uint8]]:
        """Return parts of the library's memory as bytes, given by their offsets and sizes."""
        kind = np.dtype(np.uint8)
        return [memory_at(self._base + offset, kind, size) for offset, size in places]

    @cached_property
    def _base(self) -> int:
        """Address of the library."""
        handle, known = ctypes.c_void_p(self._library._handle), ctypes.c_void_p()
        _system.dlinfo(handle, _LINK_MAP, ctypes.byref(known))
        return ctypes.c_size_t.from_address(known.value or 0).value

    def close(self) -> None:
        """Unload the library: its kernels and symbols must not be used any more."""
        _ctypes.dlclose(self._library._handle)

    def _find(self, kind: Any, name: str) -> Any:
        try:
            return kind.in_dll(self._library, name)
        except ValueError as error:
            raise KeyError(name) from error


def memory_at(address: int, dtype: np.dtype[Any], count: int) -> Array:
    """Return an array of ``count`` items that shares the memory at an address."""
    memory = (ctypes.c_char * (dtype.itemsize * count)).from_address(address)
    return np.ndarray((count,), dtype, buffer=memoryview(memory))


@contextmanager
def closed(arrays: Sequence[Array]) -> Iterator[None]:
    """Make the pages of arrays, which are mapped from files, inaccessible inside the context."""
    spans = [
        (begin := address - address % mmap.PAGESIZE, address + array.nbytes - begin)
        for array in arrays
        for address in (int(array.__array_interface__["data"][0]),)
    ]
    for address, size in spans:
        _system.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), _NONE)
    try:
        yield
    finally:
        for address, size in spans:
            _system.mprotect(ctypes.c_void_p(address), ctypes.c_size_t(size), _READ)
