"""PTX instructions made to do no harm: accesses stay in a window, and nobody is waited for.

Software fault isolation (Wahbe et al., SOSP 1993): in front of every access through a register its
address is forced into a window, and onto a multiple of its width. What stays in the window anyhow,
as all that is right does, reads and writes what it did before.

What threads of a warp do together (shuffles, votes) waits for all that its mask names. Here it is
done by those that come there together, so that nobody waits for a thread that went elsewhere. In
code that is right these are those of the mask: nvcc lets threads that parted meet again first.

Left as they are: symbols used as addresses, and local, constant and parameter memory, where nvcc
knows all addresses; generic addresses, of which only the device knows what memory they mean;
fetches from textures, which give zeros outside their memory.
"""

from __future__ import annotations

import re
from functools import lru_cache

BASE = 1 << 44
"""The first address of the window in which the buffers of rehearsals lie in every process, a
multiple of :data:`SIZE`; far from where programs on Linux have anything."""

SIZE = 1 << 35
"""Bytes of that window; a power of two."""

_ACCESS = re.compile(
    r"""(?P<guard>@!?\s*%[\w$]+\s+)?
        (?P<opcode>(?:ld|st|atom|red)(?:\.[a-z]\w*(?:::\w+)*)*?
            \.(?P<space>global|shared(?:::cta)?)(?:\.[a-zA-Z]\w*(?:::\w+)*)*)
        (?P<before>[^;\[\]]*)
        \[\s*(?P<base>%[\w$]+)\s*(?:\+\s*(?P<offset>-?\w+)\s*)?\]
        (?P<after>[^;\[\]]*);""",
    re.X,
)
_TOGETHER = re.compile(
    r"""(?P<guard>@!?\s*%[\w$]+\s+)?
        (?P<operation>(?:shfl|vote|match|redux|bar\.warp)\.(?:[\w.]*\.)?sync\b[^;]*?)
        (?P<mask>-?[%\w$]+)\s*;""",
    re.X,
)
"""What has the mask of those that take part as its last operand."""

_TYPE = re.compile(r"\.(?:[busf]|bf)(\d+)(x2)?(?=\.|\Z)")
_VECTOR = re.compile(r"\.v([248])(?=\.|\Z)")
_RESERVED = 1024
"""Bytes of shared memory that the system has in front of a block's own, at most."""


@lru_cache(maxsize=1 << 14)
def confine(instruction: str, narrow: frozenset[str], window: tuple[int, int]) -> str:
    """An instruction made to do no harm; one that does none as it is.

    Args:
        instruction: from its guard or opcode to its semicolon.
        narrow: the registers of 32 bits, among them those that hold addresses in shared memory.
        window: the first address in global memory, a multiple of the size, and the size in bytes,
            a power of two.
    """
    if together := _TOGETHER.fullmatch(instruction):
        guard, operation = together["guard"] or "", together["operation"]
        steps = [f"{guard}activemask.b32 %gi_active;", f"{guard}{operation}%gi_active;"]
        return " ".join(["{", ".reg .b32 %gi_active;", *steps, "}"])
    access, (base, size) = _ACCESS.fullmatch(instruction), window
    width = _width(access["opcode"]) if access else None
    if access is None or width is None:
        return instruction
    if access["space"] == "global":
        kind, register = "b64", "%gi_address"
        steps = [
            f"and.b64 {register}, {register}, {size - width};",
            f"or.b64 {register}, {register}, {base};",
        ]
    elif access["base"] in narrow:
        kind, register = "b32", "%gi_place"
        steps = [
            f"and.b32 {register}, {register}, {2**32 - width};",
            ".reg .b32 %gi_end;",
            "mov.u32 %gi_end, %total_smem_size;",
            f"add.u32 %gi_end, %gi_end, {_RESERVED - width};",
            f"min.u32 {register}, {register}, %gi_end;",
        ]
    else:
        return instruction
    reached = f"add.s{kind[1:]} {register}, {access['base']}, {access['offset'] or 0};"
    guard, opcode = access["guard"] or "", access["opcode"]
    last = f"{guard}{opcode}{access['before']}[{register}]{access['after']};"
    # In a block of its own, for the sake of the registers, and on one line.
    return " ".join(["{", f".reg .{kind} {register};", reached, *steps, last, "}"])


def _width(opcode: str) -> int | None:
    """Bytes that an access reads or writes at once; None where that is not understood."""
    kind, vector = _TYPE.search(opcode), _VECTOR.search(opcode)
    if kind is None:
        return None
    bits = int(kind[1]) * (2 if kind[2] else 1)
    width = bits // 8 * (int(vector[1]) if vector else 1)
    return width if width and width & (width - 1) == 0 else None
