"""Structs that kernels are passed by value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gi_cuda.spec.table import Table

if TYPE_CHECKING:
    from gi_cuda.spec import key_types as key


@dataclass(frozen=True, slots=True)
class Struct(Table):
    """``[[struct]]``: a struct or a vector that a kernel takes by value, put together of others.

    Attributes:
        size: bytes.
        align: of its type, bytes.
        members: names of buffers (of which it holds the address), textures, surfaces and
            scalars, and at which byte each begins; all other bytes are zero.
    """

    name: key.Name
    size: key.Count
    members: dict[key.Name, key.Offset]
    align: key.Alignment = 8
    line: int = 0
