"""How many warps of a kernel find room on a multiprocessor at a time.

CUDA C++ Programming Guide, section "Hardware Multithreading" and the table "Technical
Specifications per Compute Capability".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_WARP = 32
_REGISTERS = 65536
_REGISTER_UNIT = 256
"""Registers that a warp is given at a time."""

_WARP_UNIT = 4
"""Warps are given registers in fours: one for each scheduler."""

_SHARED_UNIT = 128
_SYSTEM_SHARED = 1024
"""Shared memory that the system takes for itself in each block, from compute capability 8.0 on."""


@dataclass(frozen=True, slots=True)
class _Limits:
    """Of a multiprocessor: warps, blocks, and bytes of shared memory."""

    warps: int
    blocks: int
    shared: int


_LIMITS: Mapping[str, _Limits] = {
    "70": _Limits(64, 32, 96 * 1024),
    "72": _Limits(64, 32, 96 * 1024),
    "75": _Limits(32, 16, 64 * 1024),
    "80": _Limits(64, 32, 164 * 1024),
    "86": _Limits(48, 16, 100 * 1024),
    "87": _Limits(48, 16, 164 * 1024),
    "89": _Limits(48, 24, 100 * 1024),
    "90": _Limits(64, 32, 228 * 1024),
    "100": _Limits(64, 32, 228 * 1024),
    "103": _Limits(64, 32, 228 * 1024),
    "120": _Limits(48, 24, 100 * 1024),
}


def occupancy(architecture: str, threads: int, registers: int, shared: int) -> float | None:
    """The share of a multiprocessor's warps that can be there at a time, 0 to 1.

    Args:
        architecture: e.g. ``sm_90``.
        threads: of a block.
        registers: of a thread.
        shared: of a block, static and dynamic, bytes.

    Returns:
        None where the architecture is not known.
    """
    found = re.match(r"(?:sm|compute)_(\d+)", architecture)
    limits = _LIMITS.get(found[1]) if found else None
    if limits is None or not found:
        return None
    warps = -(-threads // _WARP)
    blocks = [limits.blocks, limits.warps // warps]
    if registers:
        each = _up(registers * _WARP, _REGISTER_UNIT)
        room = _REGISTERS // each // _WARP_UNIT * _WARP_UNIT
        blocks.append(room // warps)
    taken = _up(shared, _SHARED_UNIT) + (_SYSTEM_SHARED if int(found[1]) >= 80 else 0)
    if taken:
        blocks.append(limits.shared // taken)
    return min(blocks) * warps / limits.warps


def _up(value: int, unit: int) -> int:
    """The next multiple."""
    return -(-value // unit) * unit
