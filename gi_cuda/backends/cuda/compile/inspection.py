"""Inspect machine code: instructions by class, as ``nvdisasm`` prints them, and occupancy.

For occupancy see the CUDA C++ Programming Guide, section "Hardware Multithreading" and the table
"Technical Specifications per Compute Capability".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from gi_cuda.backends.compile.process import run
from gi_cuda.backends.compile.source import COMPILE_LIMIT

_CLASSES: Mapping[str, str] = {
    "global memory": "LD LDG ST STG LDGSTS ATOM ATOMG RED REDG LDTM STTM UBLKCP UTMALDG UTMASTG",
    "shared memory": "LDS STS ATOMS LDSM STSM",
    "local memory": "LDL STL",
    "constant memory": "LDC ULDC LDCU",
    "texture": "TEX TLD TLD4 TMML TXD TXQ SULD SUST SUATOM SURED",
    "conversion": "F2F F2FP F2I F2IP FRND I2F I2FP I2I I2IP I2IP",
    "tensor": "HMMA IMMA DMMA BMMA QMMA HGMMA IGMMA QGMMA UTCHMMA UTCIMMA UTCQMMA",
    "warp": "SHFL VOTE VOTEU MATCH REDUX CREDUX ELECT",
    "barrier": "BAR MEMBAR FENCE ERRBAR DEPBAR LDGDEPBAR SYNCS WARPSYNC WARPGROUP UCGABAR_ARV",
    "control": "BRA BRX BRXU JMP JMX CALL RET EXIT BREAK BSSY BSYNC BMOV BPT KILL NANOSLEEP YIELD"
    " PREEXIT RPCMOV",
    "move": "MOV UMOV SEL USEL S2R S2UR CS2R R2UR R2P P2R UP2UR UR2UP PLOP3 UPLOP3 PRMT UPRMT"
    " GETLMEMBASE LEPC",
    "floating point": "FADD FMUL FFMA FMNMX FSEL FSET FSETP FSWZADD FCHK MUFU FADD2 FMUL2 FFMA2"
    " DADD DMUL DFMA DMNMX DSET DSETP HADD2 HMUL2 HFMA2 HMNMX2 HSET2 HSETP2",
    "integer": "IADD IADD3 IADD32I IABS IMAD IMUL IMNMX ISCADD ISETP ISET IDP IDP4A LEA LOP LOP3"
    " SHF SHL SHR POPC FLO BREV BMSK SGXT VABSDIFF VABSDIFF4 VIADD VIADDMNMX VIMNMX VIMNMX3 UIADD3"
    " UIMAD UISETP ULEA ULOP3 USHF USHL USHR UPOPC UFLO UBREV UBMSK USGXT UIABS UIMNMX UVIADD",
}

_CLASS = {name: kind for kind, names in _CLASSES.items() for name in names.split()}
_SECTION = re.compile(r"^\s*\.section\s+\.text\.(\S+?),", re.M)
_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z]\w*)", re.M)

_WARP = 32
_REGISTERS = 65536
_REGISTER_UNIT = 256
"""Unit in which a warp's registers are allocated."""

_WARP_UNIT = 4
"""Unit in which warps get registers: one for each of four schedulers."""

_SHARED_UNIT = 128
_SYSTEM_SHARED = 1024
"""Shared memory that the system reserves in each block, from compute capability 8.0 on."""


@dataclass(frozen=True, slots=True)
class _Limits:
    """Limits of a multiprocessor: warps, blocks, and bytes of shared memory."""

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


@lru_cache(maxsize=4)
def disassembled(disassembler: Path, cubin: Path, written: int) -> str:
    """Return the listing of a cubin; cached, since the variants of a shard share a cubin.

    Args:
        written: the cubin's modification time in nanoseconds.
    """
    return run([disassembler, "-c", cubin], limit=COMPILE_LIMIT).stdout


def instructions(listing: str, wanted: Callable[[str], bool]) -> dict[str, int]:
    """Return the number of instructions of each class, without NOPs.

    Instructions are counted in the code, not when they execute.

    Args:
        listing: output of ``nvdisasm -c`` for a cubin.
        wanted: tells whether the function with a symbol counts.
    """
    counts: Counter[str] = Counter()
    # Text before the first function, then symbols and bodies in turn.
    _, *parts = _SECTION.split(listing)
    for symbol, body in zip(parts[::2], parts[1::2], strict=True):
        if wanted(symbol):
            names = (name for name in _INSTRUCTION.findall(body) if name != "NOP")
            counts.update(_CLASS.get(name, "other") for name in names)
    return {kind: counts[kind] for kind in (*_CLASSES, "other") if counts[kind]}


def occupancy(architecture: str, threads: int, registers: int, shared: int) -> float | None:
    """Return the share of a multiprocessor's warps that can be resident at a time, 0 to 1.

    Args:
        architecture: e.g. ``sm_90``.
        threads: threads per block.
        registers: registers per thread.
        shared: bytes of shared memory per block, static and dynamic.

    Returns:
        None if the architecture is not known.
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
    """Round up to a multiple."""
    return -(-value // unit) * unit
