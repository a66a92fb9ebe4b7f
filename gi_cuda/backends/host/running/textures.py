"""Textures and surfaces in the form of the runtime library."""

from __future__ import annotations

import ctypes
from typing import Final

from gi_cuda.spec import Texture, View

_NUMBERS: Final = "iuf"
"""Kinds of texel components in the order of ``gi_number``."""

_ADDRESS: Final = ("wrap", "clamp", "mirror", "border")
"""Address modes in the order of ``gi_address``."""

_MOST_LINEAR: Final = 2**31

_NAME: Final = 64


class HostTexture(ctypes.Structure):
    """``gi_texture``."""

    _fields_ = (
        ("texels", ctypes.c_void_p),
        ("count", ctypes.c_uint64),
        ("format", ctypes.c_uint),
        ("size", ctypes.c_uint * 3),
        ("layers", ctypes.c_uint),
        ("address", ctypes.c_ubyte * 3),
        ("linear", ctypes.c_bool),
        ("normalized", ctypes.c_bool),
        ("surface", ctypes.c_bool),
        ("name", ctypes.c_char * _NAME),
    )

    @classmethod
    def of(cls, view: View, address: int, size: int) -> HostTexture:
        """Return the struct from which the runtime makes an object.

        Args:
            address: address of the buffer.
            size: bytes of the buffer.
        """
        one = view.of
        number = _NUMBERS.index(one.dtype.kind)
        # The encoding of gi_format.
        form = number | one.dtype.itemsize * 8 << 8 | one.components << 16 | len(view.extent) << 26
        count = (view.bytes or size) // one.texel_bytes
        extent = [*view.extent, 1, 1, 1][:3]
        if view.layers:
            extent[2] = view.layers
        made = cls(
            texels=address,
            count=count if view.extent else min(count, _MOST_LINEAR),
            format=form,
            size=(ctypes.c_uint * 3)(*extent),
            layers=view.layers,
            name=one.name.encode()[: _NAME - 1],
        )
        if isinstance(one, Texture):
            modes = [_ADDRESS.index(mode) for mode in one.address]
            made.format |= int(one.as_float) << 24
            made.address = (ctypes.c_ubyte * 3)(*(modes * 3)[:3] if len(modes) == 1 else modes)
            made.linear = one.filter == "linear"
            made.normalized = one.normalized
        else:
            made.surface = True
        return made
