"""Loaded shards of the host back end: their kernels, and the memory of their variables."""

from __future__ import annotations

import _ctypes
import ctypes
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gi_cuda.spec.kernel_names import identifier

Array: TypeAlias = NDArray[Any]

_LINK_MAP: Final = 2
"""``RTLD_DI_LINKMAP``: asks the loader for what it knows of a library, its address first."""


class _Signature(ctypes.Structure):
    _fields_ = (
        ("call", ctypes.c_void_p),
        ("count", ctypes.c_uint),
        ("sizes", ctypes.POINTER(ctypes.c_uint)),
    )


class _Kernel(ctypes.Structure):
    _fields_ = (
        ("function", ctypes.c_void_p),
        ("signature", ctypes.POINTER(_Signature)),
        ("shared_begin", ctypes.c_void_p),
        ("shared_end", ctypes.c_void_p),
    )


class _Symbol(ctypes.Structure):
    _fields_ = (("address", ctypes.c_void_p), ("bytes", ctypes.c_size_t))


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """A kernel of a loaded shard.

    Attributes:
        name: as exported.
        address: of its ``gi_kernel``.
        sizes: of its parameters, bytes.
        shared: static shared memory of its variant, bytes.
    """

    name: str
    address: int
    sizes: tuple[int, ...]
    shared: int


class Shard:
    """A shared library of compiled variants; there must be a runtime
    (:class:`~gi_cuda.backends.host.runtime.Runtime`).

    Raises:
        OSError: it cannot be loaded, e.g. for a function that is declared but not defined; the
            message names it.
    """

    def __init__(self, path: Path) -> None:
        # By default dlopen binds at once and keeps the names to itself.
        self._library = ctypes.CDLL(str(path.resolve()))
        self.path = path

    def kernel(self, variant: str, name: str) -> LoadedKernel:
        """The kernel exported under this name.

        Raises:
            KeyError: there is none.
        """
        found = self._find(_Kernel, f"gi_kernel_{variant}_{identifier(name)}")
        signature = found.signature.contents
        return LoadedKernel(
            name=name,
            address=ctypes.addressof(found),
            sizes=tuple(signature.sizes[: signature.count]),
            shared=(found.shared_end or 0) - (found.shared_begin or 0),
        )

    def symbol(self, variant: str, name: str) -> NDArray[np.uint8]:
        """The memory of an exported ``__constant__`` or ``__device__`` variable, as bytes.

        Raises:
            KeyError: there is none.
        """
        found = self._find(_Symbol, f"gi_symbol_{variant}_{identifier(name)}")
        return memory_at(found.address, np.dtype(np.uint8), found.bytes)

    def memories(self, *places: tuple[int, int]) -> list[NDArray[np.uint8]]:
        """Parts of the library's memory as bytes, by their offsets in it and their sizes."""
        handle, known = ctypes.c_void_p(self._library._handle), ctypes.c_void_p()
        ctypes.CDLL(None).dlinfo(handle, _LINK_MAP, ctypes.byref(known))
        base = ctypes.c_size_t.from_address(known.value or 0).value
        return [memory_at(base + offset, np.dtype(np.uint8), size) for offset, size in places]

    def close(self) -> None:
        """Unloads the library: its kernels and symbols must not be used any more."""
        _ctypes.dlclose(self._library._handle)

    def _find(self, kind: Any, name: str) -> Any:
        try:
            return kind.in_dll(self._library, name)
        except ValueError as error:
            raise KeyError(name) from error


def memory_at(address: int, dtype: np.dtype[Any], count: int) -> Array:
    """So many items at an address, as an array that shares their memory."""
    memory = (ctypes.c_char * (dtype.itemsize * count)).from_address(address)
    return np.ndarray((count,), dtype, buffer=memoryview(memory))
