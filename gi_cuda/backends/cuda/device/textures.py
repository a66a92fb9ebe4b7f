"""Texture objects over device buffers, made by the driver itself: PyCUDA has texture references
alone, which CUDA 12 took out of the language."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

from gi_cuda.backends.cuda.device.context import Context
from gi_cuda.backends.cuda.device.memory import Region
from gi_cuda.backends.protocol.device import LaunchRefused
from gi_cuda.spec import Texture

_LINEAR = 2  # CU_RESOURCE_TYPE_LINEAR
_READ_AS_INTEGER = 1  # CU_TRSF_READ_AS_INTEGER

FORMATS: Mapping[str, int] = MappingProxyType(
    {"uint8": 0x01, "uint16": 0x02, "uint32": 0x03, "int8": 0x08, "int16": 0x09, "int32": 0x0A}
    | {"float16": 0x10, "float32": 0x20}
)
"""CUarray_format of each type that a component can have."""

_ALIGNMENT = 512
"""Bytes that textures begin at a multiple of, where the device does not say."""


_SIGNATURES = {
    "cuTexObjectCreate": [ctypes.c_void_p] * 4,
    "cuTexObjectDestroy": [ctypes.c_uint64],
    "cuDeviceGetTexture1DLinearMaxWidth": [
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_uint,
        ctypes.c_int,
    ],
}
"""The calls that PyCUDA does not have, with the types of their arguments."""


class Linear(ctypes.Structure):
    """The member of :class:`Resource` for linear memory."""

    _fields_ = (
        ("devPtr", ctypes.c_uint64),
        ("format", ctypes.c_int),
        ("numChannels", ctypes.c_uint),
        ("sizeInBytes", ctypes.c_size_t),
    )


class _Kinds(ctypes.Union):
    _fields_ = (("linear", Linear), ("reserved", ctypes.c_int * 32))


class Resource(ctypes.Structure):
    """CUDA_RESOURCE_DESC."""

    _fields_ = (("resType", ctypes.c_int), ("res", _Kinds), ("flags", ctypes.c_uint))


class TextureDescription(ctypes.Structure):
    """CUDA_TEXTURE_DESC. But for the flags, nothing of it matters to linear memory."""

    _fields_ = (
        ("addressMode", ctypes.c_int * 3),
        ("filterMode", ctypes.c_int),
        ("flags", ctypes.c_uint),
        ("maxAnisotropy", ctypes.c_uint),
        ("mipmapFilterMode", ctypes.c_int),
        ("mipmapLevelBias", ctypes.c_float),
        ("minMipmapLevelClamp", ctypes.c_float),
        ("maxMipmapLevelClamp", ctypes.c_float),
        ("borderColor", ctypes.c_float * 4),
        ("reserved", ctypes.c_int * 12),
    )


def described(texture: Texture, address: int, size: int) -> tuple[Resource, TextureDescription]:
    """What the driver makes a texture's object from.

    Args:
        address: of the buffer.
        size: of the buffer, bytes.
    """
    form, count = FORMATS[texture.dtype.name], texture.components
    resource = Resource(_LINEAR, _Kinds(linear=Linear(address, form, count, size)))
    whole = texture.dtype.kind in "iu" and not texture.normalized
    return resource, TextureDescription(flags=_READ_AS_INTEGER if whole else 0)


class Textures:
    """The texture objects of a context, each made when it is first asked for.

    Args:
        context: the worker's.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._objects: dict[tuple[Texture, int, int], int] = {}

    @cached_property
    def _cuda(self) -> ctypes.CDLL:
        """The driver, told of the types of what is called here."""
        cuda = ctypes.CDLL("libcuda.so.1")
        for name, types in _SIGNATURES.items():
            getattr(cuda, name).argtypes = types
        return cuda

    def object(self, texture: Texture, region: Region) -> int:
        """The ``cudaTextureObject_t`` that reads a buffer. One serves all variants.

        Args:
            region: the buffer's, which stays allocated until :meth:`close`.

        Raises:
            LaunchRefused: it has more texels than the device takes, or the driver refuses it.
        """
        key = (texture, region.address, region.size)
        if key not in self._objects:
            self._objects[key] = self._make(texture, region)
        return self._objects[key]

    def close(self) -> None:
        """Destroy all objects; before their buffers are freed."""
        for made in self._objects.values():
            self._cuda.cuTexObjectDestroy(made)
        self._objects.clear()

    def _make(self, texture: Texture, region: Region) -> int:
        count, most = region.size // texture.texel_bytes, self._most(texture)
        if count > most:
            raise LaunchRefused(
                f"the texture {texture.name} has {count} texels, and a texture on this device at"
                f" most {most}: make the buffer {texture.buffer} smaller, or let the kernel read"
                " it through a pointer"
            )
        # What the driver asks for; what it does without is its own affair.
        alignment = self._context.attribute("TEXTURE_ALIGNMENT", _ALIGNMENT)
        if region.address % alignment:
            raise LaunchRefused(
                f"the buffer {texture.buffer} is not aligned to {alignment} bytes, as the texture"
                f" {texture.name} must be"
            )
        made = ctypes.c_uint64()
        resource, reading = described(texture, region.address, region.size)
        self._call(
            texture,
            "cuTexObjectCreate",
            ctypes.byref(made),
            ctypes.byref(resource),
            ctypes.byref(reading),
            None,
        )
        return made.value

    def _most(self, texture: Texture) -> int:
        """The texels that the device takes at most. The attribute for it is deprecated."""
        most = ctypes.c_size_t()
        self._call(
            texture,
            "cuDeviceGetTexture1DLinearMaxWidth",
            ctypes.byref(most),
            FORMATS[texture.dtype.name],
            texture.components,
            0,
        )
        return most.value

    def _call(self, texture: Texture, name: str, *arguments: Any) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if not status:
            return
        self._context.check()
        text = ctypes.c_char_p()
        self._cuda.cuGetErrorString(status, ctypes.byref(text))
        said = (text.value or b"unknown error").decode()
        raise LaunchRefused(f"the driver makes no texture {texture.name}: {name}: {said}")
