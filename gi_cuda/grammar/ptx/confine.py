"""PTX whose accesses to memory stay where they do no harm.

Software fault isolation (Wahbe et al., SOSP 1993): in front of every access through a register its
address is forced into a window, and onto a multiple of its width. What stays in the window anyhow,
as all that is right does, reads and writes what it did before.

Left as they are: symbols used as addresses, and local, constant and parameter memory, where nvcc
knows all addresses; generic addresses, of which only the device knows what memory they mean.
"""

from __future__ import annotations

import re

_ACCESS = re.compile(
    r"""(?P<guard>@!?\s*%[\w$]+\s+)?
        (?P<opcode>(?:ld|st|atom|red)(?:\.[a-z]\w*(?:::\w+)*)*?
            \.(?P<space>global|shared(?:::cta)?)(?:\.[a-zA-Z]\w*(?:::\w+)*)*)
        (?P<before>[^;\[\]]*)
        \[\s*(?P<base>%[\w$]+)\s*(?:\+\s*(?P<offset>-?\w+)\s*)?\]
        (?P<after>[^;\[\]]*);""",
    re.X,
)
_TYPE = re.compile(r"\.(?:[busf]|bf)(\d+)(x2)?(?=\.|\Z)")
_VECTOR = re.compile(r"\.v([248])(?=\.|\Z)")
_NARROW = re.compile(r"\.reg\s+\.[bsu]32\s+(%[A-Za-z_$]+)<")

_RESERVED = 1024
"""Bytes of shared memory that the system has in front of a block's own, at most."""


def confine(text: str, base: int, size: int) -> str:
    """The same PTX, confined.

    Args:
        text: a module, or a piece of one.
        base: the first address of the window in global memory, a multiple of its size.
        size: of the window in bytes, a power of two.
    """
    narrow = frozenset(_NARROW.findall(text))

    def confined(access: re.Match[str]) -> str:
        width = _width(access["opcode"])
        if width is None:
            return access[0]
        if access["space"] == "global":
            kind, register = "b64", "%gi_address"
            steps = [
                f"and.b64 {register}, {register}, {size - width};",
                f"or.b64 {register}, {register}, {base};",
            ]
        elif access["base"].rstrip("0123456789") in narrow:
            kind, register = "b32", "%gi_place"
            steps = [
                f"and.b32 {register}, {register}, {2**32 - width};",
                "mov.u32 %gi_end, %total_smem_size;",
                f"add.u32 %gi_end, %gi_end, {_RESERVED - width};",
                f"min.u32 {register}, {register}, %gi_end;",
            ]
        else:
            return access[0]
        first = f"add.s{kind[1:]} {register}, {access['base']}, {access['offset'] or 0};"
        registers = f".reg .{kind} {register};"
        if kind == "b32":
            registers += " .reg .b32 %gi_end;"
        last = (
            f"{access['guard'] or ''}{access['opcode']}{access['before']}"
            f"[{register}]{access['after']};"
        )
        # In a block of its own, for the sake of the registers, and on one line.
        return " ".join(["{", registers, first, *steps, last, "}"])

    return _ACCESS.sub(confined, text)


def _width(opcode: str) -> int | None:
    """Bytes that an access reads or writes at once; None where that is not understood."""
    kind, vector = _TYPE.search(opcode), _VECTOR.search(opcode)
    if kind is None:
        return None
    bits = int(kind[1]) * (2 if kind[2] else 1)
    width = bits // 8 * (int(vector[1]) if vector else 1)
    return width if width and width & (width - 1) == 0 else None
