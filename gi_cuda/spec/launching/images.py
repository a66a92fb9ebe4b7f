"""Texture and surface objects, through which kernels access buffers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from gi_cuda.spec.toml_file.table import Table, renamed

if TYPE_CHECKING:
    from gi_cuda.spec.toml_file import key_types as key

UNTYPED = np.dtype("V")
"""Placeholder type of a texture or surface whose table has no ``type``."""


@dataclass(frozen=True, slots=True)
class Texture(Table):
    """``[[texture]]``: a texture object, through which ``tex2D`` and others read a buffer.

    Attributes:
        name: name of the texture.
        buffer: name of the buffer; it must not be a variable (``symbol``).
        dtype: type of one component of a texel; default: the buffer's type.
        components: number of components of a texel, 1, 2 or 4.
        as_float: whether integers are read as floats, from 0 to 1 or, if signed, from -1 to 1.
        size: texels of each dimension, x first; empty for linear memory, which ``tex1Dfetch``
            reads.
        layers: number of layers of a layered texture; None: not layered.
        filter: ``point``: read the nearest texel; ``linear``: interpolate between texels.
        address: address mode for coordinates outside, for each dimension or one for all.
        normalized: whether coordinates go from 0 to 1 instead of 0 to the size.
        line: line of the table in ``target.toml``.
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
    """``[[surface]]``: a surface object, through which ``surf2Dwrite`` and others access a buffer.

    Attributes:
        name, buffer, dtype, components, layers, line: see :class:`Texture`.
        size: texels of each dimension, x first; always given.
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
    """A texture or a surface with its size in one case.

    Attributes:
        of: the texture or surface.
        buffer: name of the buffer whose storage holds the texels.
        extent: texels of each dimension, x first; empty for linear memory.
        layers: number of layers; 0 if it is not layered.
    """

    of: Texture | Surface
    buffer: str
    extent: tuple[int, ...] = ()
    layers: int = 0

    @property
    def bytes(self) -> int:
        """Size of all texels, bytes; 0 for linear memory."""
        texels = math.prod(self.extent) if self.extent else 0
        return texels * max(1, self.layers) * self.of.texel_bytes
