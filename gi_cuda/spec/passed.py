"""What kernels are passed besides pointers and numbers: textures, and structs by value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gi_cuda.spec.table import Table, renamed

if TYPE_CHECKING:
    from gi_cuda.spec import key_types as key

UNTYPED = np.dtype("V")
"""The type of what has none of its own."""


@dataclass(frozen=True, slots=True)
class Texture(Table):
    """``[[texture]]``: a one-dimensional texture, an input buffer as ``tex1Dfetch`` reads it.

    Attributes:
        buffer: name of the buffer, an input that kernels can be passed.
        dtype: type of one component of a texel, the buffer's if the file does not say; its size
            is one of the texel's parts.
        components: of a texel, 1, 2 or 4.
        normalized: whether integers are read as floats, from 0 to 1 or, signed, from -1 to 1.
    """

    __pydantic_config__ = renamed(dtype="type", normalized="read")

    name: key.Name
    buffer: key.Name
    dtype: key.ComponentType = UNTYPED
    components: key.Components = 1
    normalized: key.Normalized = False
    line: int = 0

    @property
    def texel_bytes(self) -> int:
        """Size of one texel."""
        return self.dtype.itemsize * self.components


@dataclass(frozen=True, slots=True)
class Struct(Table):
    """``[[struct]]``: a struct or a vector that a kernel takes by value, put together of others.

    Attributes:
        size: bytes.
        align: of its type, bytes.
        members: names of buffers (of which it holds the address), textures and scalars, and at
            which byte each begins; all other bytes are zero.
    """

    name: key.Name
    size: key.Count
    members: dict[key.Name, key.Offset]
    align: key.Alignment = 8
    line: int = 0
