"""The architectures that a program holds machine code for."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

_CONTAINER = struct.Struct("<IHHQ")  # magic, version, bytes of this header, bytes that follow
_ENTRY = struct.Struct("<HHIQ")  # kind, version, bytes of this header, bytes that follow
_MAGIC = struct.pack("<I", 0xBA55ED50)
_ARCHITECTURE = 28
"""Where an entry's header says what its code is for."""

_MACHINE_CODE = 2


def architectures(program: Path) -> frozenset[int]:
    """Numbers such as 90, as ``nvcc -arch=sm_90`` has them; none where the file cannot be read."""
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
