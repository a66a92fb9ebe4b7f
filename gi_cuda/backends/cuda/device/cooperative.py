"""Cooperative launches (all blocks run at the same time) through the driver API: PyCUDA has none.

PyCUDA does not expose the driver's handle of a function either. Capturing a launch into a graph,
which is never run, yields the handle.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from gi_cuda.backends.cuda.driver import meaning

_THREAD_LOCAL = 1  # CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
_COOPERATIVE = 2  # CU_LAUNCH_ATTRIBUTE_COOPERATIVE
_POINTER, _SIZE, _END = 1, 2, 0  # CU_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE, _END

Extent = tuple[int, int, int]


class CooperativeError(Exception):
    """The driver refuses a cooperative launch."""


class _Node(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS, version 2."""

    _fields_ = (
        ("func", ctypes.c_void_p),
        ("geometry", ctypes.c_uint * 7),
        ("kernelParams", ctypes.c_void_p),
        ("extra", ctypes.c_void_p),
        ("kern", ctypes.c_void_p),
        ("ctx", ctypes.c_void_p),
    )


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute with a flag for its value."""

    _fields_ = (
        ("id", ctypes.c_int),
        ("pad", ctypes.c_char * 4),
        ("flag", ctypes.c_int),
        ("rest", ctypes.c_char * 60),
    )


class _Configuration(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("stream", ctypes.c_void_p),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("count", ctypes.c_uint),
    )


def handle(capture: Callable[[], None], stream: Any) -> int:
    """Return the driver's handle of the function of a launch.

    Args:
        capture: puts one launch into the stream, where it is not run.
        stream: a stream that only the caller uses.

    Raises:
        CooperativeError: the driver gives no handle.
    """
    graph, node, count = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t(1)
    _call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream.handle), _THREAD_LOCAL)
    try:
        capture()
    finally:
        _call("cuStreamEndCapture", ctypes.c_void_p(stream.handle), ctypes.byref(graph))
    try:
        _call("cuGraphGetNodes", graph, ctypes.byref(node), ctypes.byref(count))
        found = _Node()
        _call("cuGraphKernelNodeGetParams_v2", node, ctypes.byref(found))
    finally:
        _driver().cuGraphDestroy(graph)
    if not found.func:
        raise CooperativeError("the driver gives no handle of the kernel")
    return int(found.func)


def launch(
    kernel: int, grid: Extent, block: Extent, shared: int, arguments: bytes, stream: Any
) -> None:
    """Put a cooperative launch into a stream.

    Args:
        kernel: its handle.
        arguments: arguments in memory layout.

    Raises:
        CooperativeError: not all blocks can be resident, or something else is wrong with the
            launch.
    """
    together = _Attribute(_COOPERATIVE, b"", 1, b"")
    how = _Configuration(
        grid=(ctypes.c_uint * 3)(*grid),
        block=(ctypes.c_uint * 3)(*block),
        shared=shared,
        stream=stream.handle,
        attributes=ctypes.pointer(together),
        count=1,
    )
    packed = ctypes.create_string_buffer(arguments, len(arguments))
    size = ctypes.c_size_t(len(arguments))
    extra = (ctypes.c_void_p * 5)(
        _POINTER, ctypes.addressof(packed), _SIZE, ctypes.addressof(size), _END
    )
    _call("cuLaunchKernelEx", ctypes.byref(how), ctypes.c_void_p(kernel), None, extra)


@cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _call(name: str, *arguments: Any) -> None:
    if status := getattr(_driver(), name)(*arguments):
        raise CooperativeError(f"{name}: {meaning(_driver(), status)}")
