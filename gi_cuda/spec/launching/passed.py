"""Structs that kernels take by value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gi_cuda.spec.toml_file.table import Table

if TYPE_CHECKING:
    from gi_cuda.spec.toml_file import key_types as key


@dataclass(frozen=True, slots=True)
class Struct(Table):
    """``[[struct]]``: a struct or vector that a kernel takes by value.

    Attributes:
        name: name of the struct.
        size: size, bytes.
        members: offset in bytes of each member, by name of a buffer (the member is its address),
            texture, surface or scalar; all other bytes are zero.
        align: alignment of its type, bytes.
        line: line of the table in ``target.toml``.
    """

    name: key.Name
    size: key.Count
    members: dict[key.Name, key.Offset]
    align: key.Alignment = 8
    line: int = 0
