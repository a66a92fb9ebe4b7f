"""Read from a program which GPU architectures it holds machine code for."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

_CONTAINER = struct.Struct("<IHHQ")  # magic, version, bytes of this header, bytes that follow
_ENTRY = struct.Struct("<HHIQ")  # kind, version, bytes of this header, bytes that follow
_MAGIC = struct.pack("<I", 0xBA55ED50)
_ARCHITECTURE = 28
"""Offset of the architecture in an entry's header, bytes."""

_MACHINE_CODE = 2


def architectures(program: Path) -> frozenset[int]:
    """Return the architectures of a program as numbers: 90 for ``nvcc -arch=sm_90``.

    The result is empty if the file cannot be read.
    """
    try:
        data = program.read_bytes()
        return frozenset(_found(data))
    except (OSError, struct.error):
        return frozenset()


def _found(data: bytes) -> Iterator[int]:
    at = data.find(_MAGIC)
    while at >= 0:
        _, _, head, size = _CONTAINER.unpack_from(data, at)
        entry, end = at + head, at + head + size
        while entry < end <= len(data):
            kind, _, header, length = _ENTRY.unpack_from(data, entry)
            if header <= _ARCHITECTURE:
                break
            if kind == _MACHINE_CODE:
                yield struct.unpack_from("<I", data, entry + _ARCHITECTURE)[0]
            entry += header + length
        at = data.find(_MAGIC, at + 4)
