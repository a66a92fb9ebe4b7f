"""The driver's structs for textures, surfaces and arrays, and functions that fill them."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from types import MappingProxyType

from gi_cuda.spec import Texture, View

_LINEAR = 2  # CU_RESOURCE_TYPE_LINEAR
_ARRAY = 0  # CU_RESOURCE_TYPE_ARRAY
_READ_AS_INTEGER = 1  # CU_TRSF_READ_AS_INTEGER
_NORMALIZED = 2  # CU_TRSF_NORMALIZED_COORDINATES
_DEVICE_MEMORY, _ARRAY_MEMORY = 2, 3  # CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_ARRAY
LAYERED = 0x01  # CUDA_ARRAY3D_LAYERED
SURFACE = 0x02  # CUDA_ARRAY3D_SURFACE_LDST
GATHER = 0x08  # CUDA_ARRAY3D_TEXTURE_GATHER

FORMATS: Mapping[str, int] = MappingProxyType(
    {"uint8": 0x01, "uint16": 0x02, "uint32": 0x03, "int8": 0x08, "int16": 0x09, "int32": 0x0A}
    | {"float16": 0x10, "float32": 0x20}
)
"""CUarray_format of each type of component."""

ADDRESS_MODES: Mapping[str, int] = MappingProxyType(
    {"wrap": 0, "clamp": 1, "mirror": 2, "border": 3}
)
"""CUaddress_mode of each address mode."""

_GATHERED = 32768
"""Texels per dimension up to which all devices support gather reads from arrays."""


class Linear(ctypes.Structure):
    """Member of :class:`Resource` for linear memory."""

    _fields_ = (
        ("devPtr", ctypes.c_uint64),
        ("format", ctypes.c_int),
        ("numChannels", ctypes.c_uint),
        ("sizeInBytes", ctypes.c_size_t),
    )


class OfArray(ctypes.Structure):
    """Member of :class:`Resource` for an array."""

    _fields_ = (("hArray", ctypes.c_void_p),)


class _Kinds(ctypes.Union):
    _fields_ = (("array", OfArray), ("linear", Linear), ("reserved", ctypes.c_int * 32))


class Resource(ctypes.Structure):
    """CUDA_RESOURCE_DESC."""

    _fields_ = (("resType", ctypes.c_int), ("res", _Kinds), ("flags", ctypes.c_uint))


class TextureDescription(ctypes.Structure):
    """CUDA_TEXTURE_DESC. For linear memory, only the flags matter."""

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


class ArrayDescription(ctypes.Structure):
    """CUDA_ARRAY3D_DESCRIPTOR."""

    _fields_ = (
        ("Width", ctypes.c_size_t),
        ("Height", ctypes.c_size_t),
        ("Depth", ctypes.c_size_t),
        ("Format", ctypes.c_int),
        ("NumChannels", ctypes.c_uint),
        ("Flags", ctypes.c_uint),
    )


def _side(name: str, host: str) -> tuple[tuple[str, type], ...]:
    """Return the members of :class:`Copy` for its source or its destination."""
    return (
        (f"{name}XInBytes", ctypes.c_size_t),
        (f"{name}Y", ctypes.c_size_t),
        (f"{name}Z", ctypes.c_size_t),
        (f"{name}LOD", ctypes.c_size_t),
        (f"{name}MemoryType", ctypes.c_int),
        (f"{name}Host", ctypes.c_void_p),
        (f"{name}Device", ctypes.c_uint64),
        (f"{name}Array", ctypes.c_void_p),
        (host, ctypes.c_void_p),
        (f"{name}Pitch", ctypes.c_size_t),
        (f"{name}Height", ctypes.c_size_t),
    )


class Copy(ctypes.Structure):
    """CUDA_MEMCPY3D."""

    _fields_ = (
        *_side("src", "reserved0"),
        *_side("dst", "reserved1"),
        ("WidthInBytes", ctypes.c_size_t),
        ("Height", ctypes.c_size_t),
        ("Depth", ctypes.c_size_t),
    )


def linear_memory(texture: Texture, address: int, size: int) -> Resource:
    """Return the resource of a texture without a size.

    Args:
        address: address of the buffer.
        size: bytes of the buffer.
    """
    form = FORMATS[texture.dtype.name]
    return Resource(_LINEAR, _Kinds(linear=Linear(address, form, texture.components, size)))


def of_array(array: int) -> Resource:
    """Return the resource of a texture or surface with a size."""
    return Resource(_ARRAY, _Kinds(array=OfArray(array)))


def reading(texture: Texture) -> TextureDescription:
    """Return the description of how a texture is read."""
    whole = texture.dtype.kind in "iu" and not texture.as_float
    flags = (_READ_AS_INTEGER if whole else 0) | (_NORMALIZED if texture.normalized else 0)
    if not texture.size:
        return TextureDescription(flags=flags)
    modes = [ADDRESS_MODES[mode] for mode in texture.address]
    # Modes of dimensions that the texture does not have are ignored.
    modes = (modes * 3)[:3] if len(modes) == 1 else [*modes, modes[-1]][:3]
    return TextureDescription(
        addressMode=(ctypes.c_int * 3)(*modes),
        filterMode=int(texture.filter == "linear"),
        flags=flags,
    )


def array_of(view: View, *, written: bool) -> ArrayDescription:
    """Return the description of the array for the texels of a texture or surface.

    Args:
        written: whether surfaces read and write it.
    """
    width, height, depth = (*view.extent, 0, 0)[:3]
    flags = SURFACE if written else 0
    if view.layers:
        depth, flags = view.layers, flags | LAYERED
    elif not flags and height and not depth and max(width, height) <= _GATHERED:
        flags = GATHER
    form = FORMATS[view.of.dtype.name]
    return ArrayDescription(width, height, depth, form, view.of.components, flags)


def copy_in(view: View, address: int, array: int) -> Copy:
    """Return a copy from linear memory into an array."""
    copy = _copy(view)
    copy.srcMemoryType, copy.srcDevice = _DEVICE_MEMORY, address
    copy.srcPitch, copy.srcHeight = copy.WidthInBytes, copy.Height
    copy.dstMemoryType, copy.dstArray = _ARRAY_MEMORY, array
    return copy


def copy_out(view: View, address: int, array: int) -> Copy:
    """Return a copy from an array into linear memory."""
    copy = _copy(view)
    copy.srcMemoryType, copy.srcArray = _ARRAY_MEMORY, array
    copy.dstMemoryType, copy.dstDevice = _DEVICE_MEMORY, address
    copy.dstPitch, copy.dstHeight = copy.WidthInBytes, copy.Height
    return copy


def _copy(view: View) -> Copy:
    """Return a copy of all texels; missing dimensions count as 1."""
    width, height, depth = (*view.extent, 1, 1)[:3]
    return Copy(WidthInBytes=width * view.of.texel_bytes, Height=height, Depth=view.layers or depth)
