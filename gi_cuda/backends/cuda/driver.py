"""The CUDA driver asked directly, without a context: which devices are there.

It needs neither PyCUDA nor nvidia-smi, and leaves nothing on the device. NVML would not do: it
numbers devices in another order, and whatever ``CUDA_VISIBLE_DEVICES`` says.
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
        name: as the driver gives it.
        capability: major and minor.
        memory: bytes.
        multiprocessors: their number.
        clock: of these, at most, MHz.
    """

    name: str
    capability: tuple[int, int]
    memory: int
    multiprocessors: int
    clock: int = 0

    @property
    def kind(self) -> object:
        """What is equal for devices on which the same takes the same time."""
        return self.name, self.capability, self.multiprocessors, self.clock

    @property
    def words(self) -> str:
        """Its kind, for people."""
        return f"{self.name}, {self.multiprocessors} multiprocessors at up to {self.clock} MHz"

    @property
    def architecture(self) -> str:
        """What nvcc compiles for it, e.g. ``sm_90``."""
        return f"sm_{self.capability[0]}{self.capability[1]}"


@dataclass(frozen=True, slots=True)
class Driver:
    """What the driver says.

    Attributes:
        version: newest CUDA it knows, e.g. ``13.0``; empty where there is no driver.
        gpus: in the order CUDA numbers them, as ``CUDA_VISIBLE_DEVICES`` leaves them.
        trouble: why there is no device; empty where there is one.
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
    """The devices, at least one.

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
    """What the driver says of a status that one of its functions gave."""
    text = ctypes.c_char_p()
    cuda.cuGetErrorString(status, ctypes.byref(text))
    return text.value.decode() if text.value else "unknown error"
