"""Texture and surface objects over device buffers, through the driver API.

PyCUDA only has texture references, which CUDA 12 removed from the language.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

from gi_cuda.backends.cuda.device.context import Context
from gi_cuda.backends.cuda.device.driver_structs import (
    FORMATS,
    Copy,
    array_of,
    copy_in,
    copy_out,
    linear_memory,
    of_array,
    reading,
)
from gi_cuda.backends.cuda.device.memory_layout.memory import Region
from gi_cuda.backends.cuda.driver import meaning
from gi_cuda.backends.protocol.device import LaunchRefused
from gi_cuda.backends.protocol.programs import CasePlan
from gi_cuda.spec import Surface, Texture, View

_ALIGNMENT = 512
"""Assumed alignment of textures in bytes if the device does not report it."""

_SIGNATURES = {
    "cuTexObjectCreate": [ctypes.c_void_p] * 4,
    "cuTexObjectDestroy": [ctypes.c_uint64],
    "cuSurfObjectCreate": [ctypes.c_void_p] * 2,
    "cuSurfObjectDestroy": [ctypes.c_uint64],
    "cuArray3DCreate_v2": [ctypes.c_void_p] * 2,
    "cuArrayDestroy": [ctypes.c_void_p],
    "cuMemcpy3DAsync_v2": [ctypes.c_void_p] * 2,
    "cuDeviceGetTexture1DLinearMaxWidth": [
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_uint,
        ctypes.c_int,
    ],
}
"""Driver functions that are called without PyCUDA, with the types of their arguments."""


def surfaces_of(plan: CasePlan) -> list[View]:
    """Return the surfaces that the launches of a plan get, each once."""
    views = (view for launch in plan.launches for view in launch.views)
    return [*dict.fromkeys(view for view in views if isinstance(view.of, Surface))]


class Textures:
    """The texture and surface objects of a context. Each is made when it is first needed.

    Objects of linear memory read the buffer itself. Others read an array, which is no linear
    memory. A texture's array is filled once with its input's contents before each launch. A
    surface's contents are copied into its array before launches and back afterwards.

    Args:
        context: the worker's context.
        written: names of the buffers that surfaces read and write.
    """

    def __init__(self, context: Context, written: Collection[str] = ()) -> None:
        self._context = context
        self._written = frozenset(written)
        self._objects: dict[tuple[View, int, int], int] = {}
        self._arrays: dict[tuple[object, ...], int] = {}

    @cached_property
    def _cuda(self) -> ctypes.CDLL:
        """The driver's library, with argument types declared."""
        cuda = ctypes.CDLL("libcuda.so.1")
        for name, types in _SIGNATURES.items():
            getattr(cuda, name).argtypes = types
        return cuda

    def object(self, view: View, region: Region) -> int:
        """Return the ``cudaTextureObject_t`` or ``cudaSurfaceObject_t`` over a buffer.

        All variants share it.

        Args:
            region: the buffer's memory, which stays allocated until :meth:`close`.

        Raises:
            LaunchRefused: it has more texels than the device supports, or the driver refuses it.
        """
        key = (view, region.address, region.size)
        if key not in self._objects:
            self._objects[key] = self._make(view, region)
        return self._objects[key]

    def enter(self, surfaces: Sequence[tuple[View, Region]]) -> None:
        """Copy the buffers of surfaces into their arrays. Does not wait."""
        for view, region in surfaces:
            self._copied(view, copy_in(view, region.address, self._array(view, region)))

    def leave(self, surfaces: Sequence[tuple[View, Region]]) -> None:
        """Copy the arrays of surfaces back into their buffers. Does not wait."""
        for view, region in surfaces:
            self._copied(view, copy_out(view, region.address, self._array(view, region)))

    def close(self) -> None:
        """Destroy all objects and arrays. To be called before their buffers are freed."""
        for (view, _, _), made in self._objects.items():
            if isinstance(view.of, Texture):
                self._cuda.cuTexObjectDestroy(made)
            else:
                self._cuda.cuSurfObjectDestroy(made)
        for array in self._arrays.values():
            self._cuda.cuArrayDestroy(array)
        self._objects.clear()
        self._arrays.clear()

    def _make(self, view: View, region: Region) -> int:
        made = ctypes.c_uint64()
        if not isinstance(view.of, Texture):
            resource = of_array(self._array(view, region))
            self._call(view, "cuSurfObjectCreate", ctypes.byref(made), ctypes.byref(resource))
            return made.value
        if view.extent:
            resource = of_array(self._array(view, region))
        else:
            self._check_linear(view.of, region)
            resource = linear_memory(view.of, region.address, region.size)
        read = reading(view.of)
        self._call(
            view,
            "cuTexObjectCreate",
            ctypes.byref(made),
            ctypes.byref(resource),
            ctypes.byref(read),
            None,
        )
        return made.value

    def _array(self, view: View, region: Region) -> int:
        """Return the array for a buffer's texels; an array of a texture's input is filled."""
        shape = (view.of.dtype.name, view.of.components, view.extent, view.layers)
        key = (region.address, region.size, *shape)
        if key not in self._arrays:
            array = ctypes.c_void_p()
            written = view.buffer in self._written
            wanted = array_of(view, written=written)
            self._call(view, "cuArray3DCreate_v2", ctypes.byref(array), ctypes.byref(wanted))
            assert array.value is not None, "the driver says that it made one"
            self._arrays[key] = array.value
            if not written:
                # No launch gets the address of the pristine copy, so none can have changed it.
                self._copied(view, copy_in(view, region.pristine or region.address, array.value))
        return self._arrays[key]

    def _copied(self, view: View, copy: Copy) -> None:
        stream = ctypes.c_void_p(self._context.stream.handle)
        self._call(view, "cuMemcpy3DAsync_v2", ctypes.byref(copy), stream)

    def _check_linear(self, texture: Texture, region: Region) -> None:
        """Refuse linear memory that the device does not support as a texture."""
        count, most = region.size // texture.texel_bytes, self._most(texture)
        if count > most:
            raise LaunchRefused(
                f"the texture {texture.name} has {count} texels, and a texture on this device at"
                f" most {most}: make the buffer {texture.buffer} smaller, or let the kernel read"
                " it through a pointer"
            )
        # The driver documents this alignment, even if it may work without.
        alignment = self._context.attribute("TEXTURE_ALIGNMENT", _ALIGNMENT)
        if region.address % alignment:
            raise LaunchRefused(
                f"the buffer {texture.buffer} is not aligned to {alignment} bytes, as the texture"
                f" {texture.name} must be"
            )

    def _most(self, texture: Texture) -> int:
        """Return the most texels that the device supports; its attribute is deprecated."""
        most = ctypes.c_size_t()
        self._call(
            View(texture, texture.buffer),
            "cuDeviceGetTexture1DLinearMaxWidth",
            ctypes.byref(most),
            FORMATS[texture.dtype.name],
            texture.components,
            0,
        )
        return most.value

    def _call(self, view: View, name: str, *arguments: Any) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if not status:
            return
        self._context.check()
        said = meaning(self._cuda, status)
        kind = "texture" if isinstance(view.of, Texture) else "surface"
        size = " x ".join(map(str, (*view.extent, *([view.layers] if view.layers else []))))
        of = f" of {size} texels" if size else ""
        raise LaunchRefused(f"the driver makes no {kind} {view.of.name}{of}: {name}: {said}")
