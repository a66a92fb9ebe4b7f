"""Textures and surfaces: buffers as kernels see them through an object."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from gi_cuda.spec.table import Table, renamed

if TYPE_CHECKING:
    from gi_cuda.spec import key_types as key

UNTYPED = np.dtype("V")
"""The type of what has none of its own."""


@dataclass(frozen=True, slots=True)
class Texture(Table):
    """``[[texture]]``: a texture object, a buffer as ``tex1Dfetch``, ``tex2D`` and others read it.

    Attributes:
        buffer: name of the buffer, one that kernels can be passed.
        dtype: type of one component of a texel, the buffer's if the file does not say; its size
            is one of the texel's parts.
        components: of a texel, 1, 2 or 4.
        as_float: whether integers are read as floats, from 0 to 1 or, signed, from -1 to 1.
        size: texels of each dimension, x first; none for linear memory, which ``tex1Dfetch`` reads.
        layers: how many textures of one or two dimensions it is; None: one, without layers.
        filter: what is read between texels: the nearest one, or something in between.
        address: what lies outside, of each dimension or of all.
        normalized: whether coordinates go from 0 to 1, not from 0 to the size.
    """

    __pydantic_config__ = renamed(dtype="type", as_float="read")

    name: key.Name
    buffer: key.Name
    dtype: key.ComponentType = UNTYPED
    components: key.Components = 1
    as_float: key.ReadAsFloat = False
    size: key.Geometry = ()
    layers: key.IntExpression | None = None
    filter: Literal["point", "linear"] = "point"
    address: key.AddressModes = ("clamp",)
    normalized: key.Flag = False
    line: int = 0

    @property
    def texel_bytes(self) -> int:
        """Size of one texel."""
        return self.dtype.itemsize * self.components


@dataclass(frozen=True, slots=True)
class Surface(Table):
    """``[[surface]]``: a surface object, a buffer as ``surf2Dread``, ``surf2Dwrite`` and others
    read and write it.

    Attributes:
        buffer, dtype, components, size, layers: as for a texture; there is always a size.
    """

    __pydantic_config__ = renamed(dtype="type")

    name: key.Name
    buffer: key.Name
    size: key.Geometry
    dtype: key.ComponentType = UNTYPED
    components: key.Components = 1
    layers: key.IntExpression | None = None
    line: int = 0

    @property
    def texel_bytes(self) -> int:
        """Size of one texel."""
        return self.dtype.itemsize * self.components


@dataclass(frozen=True, slots=True)
class View:
    """A texture or a surface in one case.

    Attributes:
        of: what it is.
        buffer: in whose storage its texels lie.
        extent: texels of each dimension, x first; none for linear memory.
        layers: how many there are; 0 for none.
    """

    of: Texture | Surface
    buffer: str
    extent: tuple[int, ...] = ()
    layers: int = 0

    @property
    def bytes(self) -> int:
        """Size of all texels; 0 for linear memory."""
        texels = math.prod(self.extent) if self.extent else 0
        return texels * max(1, self.layers) * self.of.texel_bytes
