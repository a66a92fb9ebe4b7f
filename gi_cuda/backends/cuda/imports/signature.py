"""Read the parameters of kernels from PTX and cubins, and compare those of two kernels.

PTX gives each parameter's size and, mostly, its type: ``.u64``, ``.f32``, ``.b8 [24]``. It only
sometimes tells whether 64 bits are a pointer (``.ptr``). A cubin gives offsets and sizes only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gi_cuda.backends.compile.elf import Elf

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_ENTRY = re.compile(r"\.entry\s+(?P<name>[\w$]+)\s*(?:\((?P<parameters>[^()]*)\))?")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+(?P<align>\d+)\s+)?\.(?P<type>[a-z]+\d*(?:x\d+)?)"
    r"(?P<pointer>\s+\.ptr\b[^,\[]*?)?\s*[\w$%]+\s*(?:\[\s*(?P<count>\d+)\s*\])?\s*\Z"
)
_SCALAR = re.compile(r"(?P<kind>[busf])(?P<bits>8|16|32|64)")

_OPAQUE = 8
"""Bytes of a parameter that is a handle of a texture, a sampler or a surface."""


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """One parameter of a kernel.

    Attributes:
        offset, size: position and size in the parameter block in bytes.
        kind: ``integer``, ``float``, ``pointer``, or "" if not known: structs, untyped bits, all
            parameters of cubins.
        text: its type as the file spells it.
    """

    offset: int
    size: int
    kind: str
    text: str

    def fits(self, other: KernelParameter) -> bool:
        """Tell whether an argument for one of the parameters can be passed to the other."""
        if (self.offset, self.size) != (other.offset, other.size):
            return False
        kinds = {self.kind, other.kind}
        return "" in kinds or len(kinds) == 1 or kinds == {"integer", "pointer"}


Signature = tuple[KernelParameter, ...]


def spelled(signature: Signature) -> str:
    """Return a signature as text for messages.

    >>> spelled(in_ptx(".entry k(.param .u64 a, .param .align 8 .b8 b[24])")["k"])
    '(.u64, .b8[24])'
    """
    return f"({', '.join(one.text for one in signature)})"


def difference(target: Signature, found: Signature) -> str:
    """Describe the first difference between a target's kernel and a file's; "" if there is none."""
    for number, (mine, other) in enumerate(zip(target, found, strict=False), 1):
        if not mine.fits(other):
            return f"parameter {number} is {_placed(other)}, and the target's {_placed(mine)}"
    if len(target) != len(found):
        return f"it has {len(found)} parameters, and the target's {len(target)}"
    return ""


def _placed(one: KernelParameter) -> str:
    size = "" if one.text.endswith("bytes") else f" ({one.size} bytes)"
    return f"{one.text}{size} at offset {one.offset}"


def in_ptx(text: str) -> dict[str, Signature]:
    """Return the signatures of all kernels in a PTX text, by symbol.

    Raises:
        ValueError: the type of a parameter is not known.
    """
    return {
        entry["name"]: _listed(entry["parameters"] or "")
        for entry in _ENTRY.finditer(_COMMENT.sub(" ", text))
    }


def _listed(text: str) -> Signature:
    found: list[KernelParameter] = []
    end = 0
    for piece in text.split(",") if text.strip() else ():
        match = _PARAMETER.fullmatch(piece.strip())
        if match is None:
            raise ValueError(f"not a parameter: {' '.join(piece.split())}")
        size, align, kind = _shape(match)
        offset = -(-end // align) * align
        end = offset + size
        found.append(KernelParameter(offset, size, kind, _text(match)))
    return tuple(found)


def _shape(match: re.Match[str]) -> tuple[int, int, str]:
    """Return size, alignment and kind of a parameter."""
    scalar = _SCALAR.fullmatch(match["type"])
    each = int(scalar["bits"]) // 8 if scalar else _OPAQUE
    align = int(match["align"] or each)
    if match["count"]:
        return each * int(match["count"]), align, ""
    if match["pointer"]:
        return each, align, "pointer"
    kinds: Mapping[str, str] = {"u": "integer", "s": "integer", "f": "float"}
    return each, align, kinds.get(scalar["kind"], "") if scalar else match["type"]


def _text(match: re.Match[str]) -> str:
    pointer = " .ptr" if match["pointer"] else ""
    count = f"[{match['count']}]" if match["count"] else ""
    return f".{match['type']}{pointer}{count}"


def in_cubin(elf: Elf, symbols: Sequence[str]) -> dict[str, Signature]:
    """Return the signatures of kernels in a cubin, by symbol."""
    return {
        symbol: tuple(
            KernelParameter(offset, size, "", f"{size} bytes")
            for offset, size in elf.parameters(symbol)
        )
        for symbol in symbols
    }
