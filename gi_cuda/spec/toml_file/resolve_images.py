"""Check textures and surfaces against their buffers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from gi_cuda.spec.launching.images import UNTYPED, Surface, Texture
from gi_cuda.spec.target import Buffer, BufferRole, Tables, Target
from gi_cuda.spec.toml_file.locate import Key, KeyLines
from gi_cuda.spec.toml_file.names import NameResolver

_WIDEST = 4
"""Largest component that a texture can hold, bytes."""

_WIDEST_AS_FLOAT = 2
"""Largest integer component that a texture can read as a float, bytes."""

_Image = TypeVar("_Image", Texture, Surface)


@dataclass(frozen=True, slots=True)
class Images:
    """The textures and surfaces of a target, with their lines and types."""

    textures: tuple[Texture, ...]
    surfaces: tuple[Surface, ...]


def resolved_images(tables: Tables, names: NameResolver) -> Images:
    """Check textures and surfaces, and set their lines and types.

    Raises:
        UserError: the buffer or CUDA does not allow a texture or surface.
    """
    buffers = {buffer.name: buffer for buffer in tables.buffers}
    surfaces = tuple(
        _surface(item, ("surface", index), names, buffers)
        for index, item in enumerate(tables.surfaces)
    )
    _check_surfaces(surfaces, tables, names.places)
    textures = tuple(
        _texture(item, ("texture", index), names, buffers, surfaces)
        for index, item in enumerate(tables.textures)
    )
    return Images(textures, surfaces)


def check_images_used(target: Target, used: Collection[str], places: KeyLines) -> None:
    """Check that every texture and surface is used by a launch.

    Raises:
        UserError: one is not used.
    """
    groups: list[tuple[str, str, Sequence[Texture | Surface]]] = [
        ("texture", "cudaTextureObject_t", target.textures),
        ("surface", "cudaSurfaceObject_t", target.surfaces),
    ]
    for group, kind, items in groups:
        for index, item in enumerate(items):
            if item.name not in used:
                raise places.error(
                    (group, index),
                    f"no launch uses the {group} {item.name!r}",
                    f"Put it into `args`, where the kernel takes its {kind}.",
                )


def _texture(
    item: Texture,
    key: Key,
    names: NameResolver,
    buffers: Mapping[str, Buffer],
    surfaces: Iterable[Surface],
) -> Texture:
    buffer = _memory(item, (*key, "buffer"), names, buffers)
    item = _typed(item, buffer, key, names.places)
    if buffer.role is not BufferRole.INPUT and not any(_same(item, one) for one in surfaces):
        raise names.places.error(
            (*key, "buffer"),
            f"the buffer {buffer.name!r} has the role {buffer.role.value!r}, and a texture reads"
            " inputs alone, or what a surface of the same type and size writes",
            # What a launch writes need not be seen by its own fetches, nor be swapped with them.
            'Name a buffer of role "input", or let the kernel read through a pointer.',
        )
    _check_reading(item, key, names.places)
    return item


def _surface(
    item: Surface, key: Key, names: NameResolver, buffers: Mapping[str, Buffer]
) -> Surface:
    item = _typed(item, _memory(item, (*key, "buffer"), names, buffers), key, names.places)
    _check_layers(item, key, names.places)
    return item


def _typed(item: _Image, buffer: Buffer, key: Key, places: KeyLines) -> _Image:
    """Set the line and the component type of a texture or surface."""
    dtype: np.dtype[Any] = buffer.dtype if item.dtype == UNTYPED else item.dtype
    if dtype.itemsize > _WIDEST:
        raise places.error(
            (*key, "type"),
            f"a {key[0]} cannot hold {dtype}",
            "Textures hold numbers of 8, 16 and 32 bits. Numbers of 64 bits are read as"
            ' type = "int32" with twice the components, and put together by the kernel.',
        )
    return replace(item, dtype=dtype, line=places.line(key))


def _memory(
    item: Texture | Surface, key: Key, names: NameResolver, buffers: Mapping[str, Buffer]
) -> Buffer:
    """Return the buffer of a texture or surface."""
    names.check(item.buffer, buffers, key, "buffer")
    buffer = buffers[item.buffer]
    if buffer.symbol is not None:
        raise names.places.error(
            key,
            f"the buffer {buffer.name!r} is the variable {buffer.symbol}, which is elsewhere in"
            " each variant",
            f"Leave its `symbol` out: then it has memory of its own, which a {key[0]} can read.",
        )
    return buffer


def _same(texture: Texture, surface: Surface) -> bool:
    """Tell whether a texture and a surface have the same buffer, texel type and size."""
    shape = (texture.buffer, texture.dtype, texture.components, texture.size, texture.layers)
    return shape == (
        *(surface.buffer, surface.dtype, surface.components, surface.size, surface.layers),
    )


def _check_reading(item: Texture, key: Key, places: KeyLines) -> None:
    """Check that the texture unit supports a texture's ``read``, ``filter``, ``address`` etc."""
    if item.as_float and (item.dtype.kind not in "iu" or item.dtype.itemsize > _WIDEST_AS_FLOAT):
        raise places.error(
            (*key, "read"),
            f"no texture reads {item.dtype} as normalized floats",
            'Only integers of 8 and 16 bits can be: say read = "element".',
        )
    shaped = {
        "layers": item.layers is not None,
        "filter": item.filter != "point",
        "address": item.address != ("clamp",),
        "normalized": item.normalized,
    }
    for name, said in shaped.items():
        if said and not item.size:
            raise places.error(
                (*key, name),
                f"a linear texture, which tex1Dfetch reads, has no `{name}`",
                'Say how many texels there are in each dimension: size = ["width", "height"].',
            )
    if item.filter == "linear" and item.dtype.kind != "f" and not item.as_float:
        raise places.error(
            (*key, "filter"),
            f"there is nothing between two texels of {item.dtype}",
            'Say read = "normalized_float" (8 and 16 bits), or filter = "point".',
        )
    if len(item.address) > max(1, len(item.size)):
        raise places.error(
            (*key, "address"),
            f"there are {len(item.address)} address modes for {len(item.size)} dimensions",
            "One is for all dimensions, several are for one each.",
        )
    _check_layers(item, key, places)


def _check_layers(item: Texture | Surface, key: Key, places: KeyLines) -> None:
    if item.layers is not None and len(item.size) > 2:
        raise places.error(
            (*key, "layers"),
            "there are no layers of three dimensions",
            "A size of three dimensions has its depth as the third.",
        )


def _check_surfaces(surfaces: tuple[Surface, ...], tables: Tables, places: KeyLines) -> None:
    """Check that nothing but one surface accesses its buffer.

    On a device, the texels of a surface are not linear memory, so pointers cannot access them.
    """
    passed = {name for launch in tables.launches for step in launch.steps for name in step.args}
    swapped = {name for launch in tables.launches for pair in launch.swap for name in pair}
    seen: set[str] = set()
    for index, item in enumerate(surfaces):
        what = hint = ""
        if item.buffer in seen:
            what, hint = "is another surface's", "Pass that one to both kernels."
        elif item.buffer in passed:
            what = "is an argument itself"
            hint = "Its texels are no linear memory on a device: give the pointer another buffer."
        elif item.buffer in swapped:
            what = "is swapped"
            hint = "Surfaces stay where they are: write the launches out, with two surfaces."
        if what:
            raise places.error(
                ("surface", index, "buffer"), f"the buffer {item.buffer!r} {what}", hint
            )
        seen.add(item.buffer)
