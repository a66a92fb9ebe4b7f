"""Counting instructions of machine code by class, from what ``nvdisasm`` prints."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping

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


def instructions(listing: str, wanted: Callable[[str], bool]) -> dict[str, int]:
    """How many instructions there are of each class, those that do nothing left out.

    Counts what is there, not how often it is executed.

    Args:
        listing: what ``nvdisasm -c`` printed of a cubin.
        wanted: of a function's symbol, whether it counts.
    """
    counts: Counter[str] = Counter()
    # Text before the first function, then symbols and bodies in turn.
    _, *parts = _SECTION.split(listing)
    for symbol, body in zip(parts[::2], parts[1::2], strict=True):
        if wanted(symbol):
            names = (name for name in _INSTRUCTION.findall(body) if name != "NOP")
            counts.update(_CLASS.get(name, "other") for name in names)
    return {kind: counts[kind] for kind in (*_CLASSES, "other") if counts[kind]}
