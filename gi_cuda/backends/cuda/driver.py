"""Ask the CUDA driver directly, without a context, which devices there are.

This needs neither PyCUDA nor nvidia-smi, and leaves nothing on the device. NVML is no alternative:
it orders devices differently, and ignores ``CUDA_VISIBLE_DEVICES``.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from gi_cuda.errors import UserError

_CAPABILITY = (75, 76)  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, _MINOR
_MULTIPROCESSORS = 16
_CLOCK = 13
_NO_DEVICE = 100


@dataclass(frozen=True, slots=True)
class Gpu:
    """One device.

    Attributes:
        name: name from the driver.
        capability: major and minor compute capability.
        memory: bytes of memory.
        multiprocessors: number of multiprocessors.
        clock: highest clock of the multiprocessors in MHz.
    """

    name: str
    capability: tuple[int, int]
    memory: int
    multiprocessors: int
    clock: int = 0

    @property
    def kind(self) -> object:
        """Value that is equal for devices on which times can be compared."""
        return self.name, self.capability, self.multiprocessors, self.clock

    @property
    def words(self) -> str:
        """Description of its kind for users."""
        return f"{self.name}, {self.multiprocessors} multiprocessors at up to {self.clock} MHz"

    @property
    def architecture(self) -> str:
        """Architecture name for nvcc, e.g. ``sm_90``."""
        return f"sm_{self.capability[0]}{self.capability[1]}"


@dataclass(frozen=True, slots=True)
class Driver:
    """Answers of the driver.

    Attributes:
        version: newest CUDA version that it supports, e.g. ``13.0``; "" if there is no driver.
        gpus: devices in CUDA's order, as ``CUDA_VISIBLE_DEVICES`` restricts them.
        trouble: the reason if there is no device; else "".
    """

    version: str
    gpus: tuple[Gpu, ...]
    trouble: str = ""


def query() -> Driver:
    """Ask the driver; never fails."""
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return Driver("", (), "no NVIDIA driver: libcuda.so.1 cannot be loaded")
    number = ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(number))
    version = f"{number.value // 1000}.{number.value % 1000 // 10}"
    if status := cuda.cuInit(0):
        trouble = "the driver sees no device" if status == _NO_DEVICE else _message(cuda, status)
        return Driver(version, (), trouble)
    cuda.cuDeviceGetCount(ctypes.byref(number))
    gpus = tuple(_gpu(cuda, index) for index in range(number.value))
    return Driver(version, gpus, "" if gpus else "the driver sees no device")


def require_gpus() -> tuple[Gpu, ...]:
    """Return the devices, at least one.

    Raises:
        UserError: there is none.
    """
    driver = query()
    if driver.gpus:
        return driver.gpus
    raise UserError(
        f"no GPU can be used: {driver.trouble}",
        hint="see `gi-cuda doctor`; without a GPU use --backend host",
    )


def _gpu(cuda: ctypes.CDLL, index: int) -> Gpu:
    device, value, memory = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    cuda.cuDeviceGet(ctypes.byref(device), index)
    name = ctypes.create_string_buffer(256)
    cuda.cuDeviceGetName(name, len(name), device)
    cuda.cuDeviceTotalMem_v2(ctypes.byref(memory), device)

    def attribute(which: int) -> int:
        value.value = 0
        cuda.cuDeviceGetAttribute(ctypes.byref(value), which, device)
        return value.value

    major, minor = map(attribute, _CAPABILITY)
    return Gpu(
        name.value.decode("utf-8", "replace"),
        (major, minor),
        memory.value,
        attribute(_MULTIPROCESSORS),
        attribute(_CLOCK) // 1000,
    )


def _message(cuda: ctypes.CDLL, status: int) -> str:
    return f"the driver fails with status {status}: {meaning(cuda, status)}"


def meaning(cuda: ctypes.CDLL, status: int) -> str:
    """Return the driver's description of a status code."""
    text = ctypes.c_char_p()
    cuda.cuGetErrorString(status, ctypes.byref(text))
    return text.value.decode() if text.value else "unknown error"
