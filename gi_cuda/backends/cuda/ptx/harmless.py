"""PTX instructions made to do no harm, one by one: see :mod:`gi_cuda.backends.cuda.ptx.confine`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from gi_cuda.backends.cuda.ptx.addresses import BASE, WIDTHS, access, copy, noted, tested
from gi_cuda.backends.cuda.ptx.function import Function, Jump, Numbered, Piece

CONTROL = BASE + (1 << 34)
"""Where the deadline lies, in nanoseconds of the device's clock; behind it the signs."""

SIGNS: Mapping[str, int] = {
    "late": CONTROL + 8,
    "strayed": CONTROL + 12,
    "parted": CONTROL + 16,
    "unnamed": CONTROL + 20,
    "alone": CONTROL + 24,
    "beside": CONTROL + 28,
}
"""Where a word is changed by code that is not done at the deadline, that would have crashed, of
which threads of a warp are at different barriers, where a thread takes part in something that is
not for it, which waits for threads of its warp that do not come, or which accesses what lies
between buffers."""

_WARPS = "gi_warps"
MODULE = f".shared .align 4 .b8 {_WARPS}[256];\n"
"""What a module with confined functions has in front of them: for each warp of a block the barrier
at which it is; behind that, for each, those of its threads that are no more."""

_GONE = 128
"""Bytes between the two."""

_RESERVED = 1024
"""Bytes of shared memory that the system has in front of a block's own, at most."""

_EVERY = 32
"""Jumps backwards between two looks at the clock; a power of two."""

_FIRST_ALONE = 0x10
"""For ``lop3``: what is in the first operand and in none of the two others."""

STATEMENT = re.compile(
    r"""(?<![\w$%.:])
        (?P<guard>@!?\s*%[\w$]+\s+)?
        (?P<opcode>(?P<name>ld|st|atom|red|bra|brx|bar|barrier|shfl|vote|match|redux|elect|ret|exit
            |trap|brkpt|call|cp|ldmatrix|stmatrix|mbarrier|sust|suld|sured)
            (?:\.[a-zA-Z\d]\w*(?:::\w+)*)*)(?![\w$:(])
        (?P<operands>[^;]*);""",
    re.X,
)
"""Instructions that may do harm, or where something is to be done."""

_STOPS = re.compile(r"\b__assertfail\b")
_UNKNOWN = re.compile(r"\s*(?:\([^)]*\)\s*,)?\s*(?:malloc\b|free\b|%)")
_WHOLE_BLOCK = re.compile(r"(?:bar|barrier)(?:\.cta)?\.(?:sync|red)\b")
WARP_WIDE = re.compile(r"(?:shfl|vote|match|redux|elect)\.(?:[\w.]*\.)?sync\b|bar\.warp\.sync\b")
"""What threads of a warp do together, those of a mask that is the last operand."""


def _sign(kind: str) -> str:
    return f"st.volatile.global.u32 [%gi_control+{SIGNS[kind] - CONTROL}], 1;"


_KEPT = ("strayed", "parted", "unnamed", "alone", "beside")
_REPORT = tuple(f"@%gi_{kind} {_sign(kind)}" for kind in _KEPT)
_LEAVING = f"red.shared.or.b32 [%gi_slot+{_GONE}], %gi_self;"
TICK = (
    "add.u32 %gi_jumps, %gi_jumps, 1;"
    f" and.b32 %gi_word, %gi_jumps, {_EVERY - 1};"
    " setp.eq.u32 %gi_test, %gi_word, 0;"
    " @%gi_test mov.u64 %gi_address, %globaltimer;"
    " setp.gt.and.u64 %gi_test, %gi_address, %gi_deadline, %gi_test;"
    f" @%gi_test {_sign('late')}"
    " @%gi_test exit; "
)
"""In front of a jump backwards: who is late leaves."""

_DECLARED = (
    ".reg .b64 %gi_control, %gi_deadline, %gi_address, %gi_forced, %gi_away, %gi_edge;",
    ".reg .b32 %gi_jumps, %gi_word, %gi_slot, %gi_end, %gi_lanes, %gi_self;",
    f".reg .b32 {', '.join(f'%gi_last{width}' for width in WIDTHS)};",
    f".reg .pred %gi_test, %gi_here, {', '.join(f'%gi_{kind}' for kind in _KEPT)};",
    f"mov.u64 %gi_control, {CONTROL};",
    "ld.volatile.global.u64 %gi_deadline, [%gi_control];",
    "mov.u32 %gi_jumps, 0;",
    "mov.u64 %gi_address, 0;",
    "mov.u32 %gi_end, %total_smem_size;",
    *(f"add.u32 %gi_last{width}, %gi_end, {_RESERVED - width};" for width in WIDTHS),
    *(f"setp.ne.u32 %gi_{kind}, %gi_jumps, 0;" for kind in _KEPT),
)
_SLOT = (
    # The number of this thread's warp in its block, times four.
    "mov.u32 %gi_slot, %tid.z;",
    "mov.u32 %gi_word, %ntid.y;",
    "mov.u32 %gi_lanes, %tid.y;",
    "mad.lo.u32 %gi_slot, %gi_slot, %gi_word, %gi_lanes;",
    "mov.u32 %gi_word, %ntid.x;",
    "mov.u32 %gi_lanes, %tid.x;",
    "mad.lo.u32 %gi_slot, %gi_slot, %gi_word, %gi_lanes;",
    "shr.u32 %gi_slot, %gi_slot, 5;",
    "shl.b32 %gi_slot, %gi_slot, 2;",
    f"mov.u32 %gi_word, {_WARPS};",
    "add.u32 %gi_slot, %gi_slot, %gi_word;",
)
_SELF = "mov.u32 %gi_self, %lanemask_eq;"
_FIRST = (
    # All threads that a warp has are here.
    "activemask.b32 %gi_lanes;",
    "not.b32 %gi_lanes, %gi_lanes;",
    f"st.volatile.shared.u32 [%gi_slot+{_GONE}], %gi_lanes;",
)


def prologue(function: Function, *, numbered: bool) -> str:
    """What a function begins with.

    Args:
        numbered: whether something in it has a number.
    """
    slot = _SLOT if numbered or function.warps else ()
    slot = (*slot, _SELF) if function.warps else slot
    first = _FIRST if function.entry and function.warps else ()
    return " ".join([*_DECLARED, *slot, *first])


def harmless(found: re.Match[str], function: Function) -> Sequence[Piece] | None:
    """What takes an instruction's place; nothing where it stays, None where it may do harm and
    nothing is known against that."""
    guard, opcode, name, operands = found.groups("")
    match name:
        case "ld" | "st" | "atom" | "red" | "ldmatrix" | "stmatrix" | "mbarrier":
            return _joined(access(guard, opcode, operands, function))
        case "bra":
            return [Jump(operands.split()[-1], found[0], f"{TICK}{found[0]}")]
        case "brx":
            return [f"{TICK}{found[0]}"]
        case "ret" | "exit":
            leaving = function.warps and (function.entry or name == "exit")
            gone = [f"{guard}{_LEAVING}"] if leaving else []
            return _joined([*_REPORT, *gone, found[0]])
        case "trap" | "brkpt":
            return _joined(_stopped(guard))
        case "call":
            if _STOPS.search(operands):
                return _joined(_stopped(guard))
            return None if _UNKNOWN.match(operands) else []
        case "suld" | "sust" | "sured":
            return [f"{guard}{opcode.replace('.trap', '.zero')}{operands};"]
        case "cp":
            return _joined(copy(guard, opcode, operands, function))
    if WARP_WIDE.match(opcode):
        return _joined(_together(guard, opcode, operands))
    if _WHOLE_BLOCK.match(opcode):
        return _barrier(guard, opcode, operands)
    return None if name in ("bar", "barrier") else []


def _joined(steps: Sequence[str] | None) -> Sequence[str] | None:
    return steps and [" ".join(steps)]


def _stopped(guard: str) -> list[str]:
    """In place of what stops the device."""
    strays = "setp.eq.u32 %gi_test, %gi_jumps, %gi_jumps;"
    if test := tested(guard):
        strays = f"setp.eq.and.u32 %gi_test, %gi_jumps, %gi_jumps, {test};"
    return [strays, "or.pred %gi_strayed, %gi_strayed, %gi_test;", *_REPORT, "@%gi_test exit;"]


def _together(guard: str, opcode: str, operands: str) -> list[str]:
    """An operation of those threads of a warp that are there."""
    operands = operands.rstrip()
    at = max(map(operands.rfind, (",", " ", "\t"))) + 1
    return [_asked(guard, operands[at:]), f"{guard}{opcode}{operands[:at]}%gi_lanes;"]


@lru_cache(maxsize=1024)
def _asked(guard: str, mask: str) -> str:
    """Who is there, in front of an operation of the threads of a mask.

    Of who is not among those that it is for, CUDA does not say what becomes. If it is for others,
    too, it does not wait for those that are no more; for those that went elsewhere it may wait for
    ever.
    """
    test = tested(guard)
    steps = [
        f"{guard}activemask.b32 %gi_lanes;",
        f"and.b32 %gi_word, %gi_self, {mask};",
        *noted("setp.eq.u32", "%gi_word, 0", test, "unnamed"),
        f"ld.volatile.shared.u32 %gi_word, [%gi_slot+{_GONE}];",
        f"lop3.b32 %gi_word, {mask}, %gi_lanes, %gi_word, {_FIRST_ALONE};",
        *noted("setp.ne.u32", "%gi_word, 0", test, "alone"),
    ]
    return " ".join(steps)


def _barrier(guard: str, opcode: str, operands: str) -> Sequence[Piece] | None:
    """A barrier for all threads of a block; None for others."""
    red = ".red" in opcode
    words = [one.strip() for one in operands.split(",")]
    which = words[1] if red and len(words) > 1 else words[0]
    if which != "0" or len(words) != (3 if red else 1):
        return None
    each = opcode.replace(".aligned", "").replace("bar.", "barrier.", 1)

    def text(number: int) -> str:
        steps = [
            f"{guard}st.volatile.shared.u32 [%gi_slot], {number};",
            f"{guard}bar.warp.sync -1;",
            f"mov.u32 %gi_word, {number};",
            f"{guard}ld.volatile.shared.u32 %gi_word, [%gi_slot];",
            *noted("setp.ne.u32", f"%gi_word, {number}", "", "parted"),
            f"{guard}{each}{operands};",
        ]
        return " ".join(steps)

    return [Numbered(text)]
