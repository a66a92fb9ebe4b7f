"""The texture objects that ``target.toml`` declares, held against the buffers that they read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gi_cuda.errors import UserError
from gi_cuda.spec import schema
from gi_cuda.spec.locate import Key
from gi_cuda.spec.names import NameResolver
from gi_cuda.spec.target import Buffer, BufferRole, Texture

_WIDEST = 4
"""Bytes of the largest component that a texture can hold."""

_WIDEST_NORMALIZED = 2
"""The same where integers are read as floats."""


def read_textures(
    table: schema.TargetFile, names: NameResolver, buffers: Mapping[str, Buffer]
) -> tuple[Texture, ...]:
    """The textures of a target, in order.

    Args:
        buffers: all of the target's, by name.

    Raises:
        UserError: no such buffer, one that no texture can read, a type that none can hold.
    """
    return tuple(
        _texture(item, ("texture", index), names, buffers)
        for index, item in enumerate(table.texture)
    )


def _texture(
    item: schema.TextureTable, key: Key, names: NameResolver, buffers: Mapping[str, Buffer]
) -> Texture:
    buffer = _buffer(item, key, names, buffers)
    dtype = buffer.dtype if item.type is None else np.dtype(item.type)
    where = names.places.at((*key, "type"))
    if dtype.itemsize > _WIDEST:
        raise UserError(
            f"a texture cannot hold {dtype}",
            where=where,
            hint="Textures hold numbers of 8, 16 and 32 bits. Numbers of 64 bits are read as"
            ' type = "int32" with twice the components, and put together by the kernel.',
        )
    normalized = item.read == "normalized_float"
    if normalized and (dtype.kind not in "iu" or dtype.itemsize > _WIDEST_NORMALIZED):
        raise UserError(
            f"no texture reads {dtype} as normalized floats",
            where=names.places.at((*key, "read")),
            hint='Only integers of 8 and 16 bits can be: say read = "element".',
        )
    line = names.places.line(key)
    return Texture(item.name, item.buffer, dtype, item.components, normalized, line)


def _buffer(
    item: schema.TextureTable, key: Key, names: NameResolver, buffers: Mapping[str, Buffer]
) -> Buffer:
    at: Key = (*key, "buffer")
    names.check(item.buffer, buffers, at, "buffer")
    buffer = buffers[item.buffer]
    if buffer.role is not BufferRole.INPUT:
        raise UserError(
            f"the buffer {buffer.name!r} has the role {buffer.role.value!r}, and a texture reads"
            " inputs alone",
            where=names.places.at(at),
            # What a launch writes need not be seen by its own fetches, nor be swapped with them.
            hint='Name a buffer of role "input", or let the kernel read through a pointer.',
        )
    if buffer.symbol is not None:
        raise UserError(
            f"the buffer {buffer.name!r} is the variable {buffer.symbol}, which is elsewhere in"
            " each variant",
            where=names.places.at(at),
            hint="Leave its `symbol` out: then it has memory of its own, which a texture can read.",
        )
    return buffer
