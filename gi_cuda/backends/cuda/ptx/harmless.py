"""Confine PTX instructions one by one; see :mod:`gi_cuda.backends.cuda.ptx.confine`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from gi_cuda.backends.cuda.ptx.addresses import BASE, WIDTHS, access, copy, noted, tested
from gi_cuda.backends.cuda.ptx.function import Function, Jump, Numbered, Piece

CONTROL = BASE + (1 << 34)
"""Address of the control block: the deadline, in nanoseconds of the device's clock, then the
signs."""

SIGNS: Mapping[str, int] = {
    "late": CONTROL + 8,
    "strayed": CONTROL + 12,
    "parted": CONTROL + 16,
    "unnamed": CONTROL + 20,
    "alone": CONTROL + 24,
    "beside": CONTROL + 28,
}
"""Address of each sign, a word that confined code changes.

late: not done at the deadline. strayed: an access that would have crashed. parted: threads of a
warp at different barriers. unnamed: a thread takes part in an operation whose mask lacks it. alone:
waits for threads of its warp that do not come. beside: an access between buffers.
"""

_WARPS = "gi_warps"
MODULE = f".shared .align 4 .b8 {_WARPS}[256];\n"
"""Declaration that a module with confined functions needs before them: for each warp of a block,
the barrier that it is at; then, for each warp, the mask of its threads that have exited."""

_GONE = 128
"""Offset in bytes between these two tables."""

_RESERVED = 1024
"""The most bytes of shared memory that the system reserves before a block's own."""

_EVERY = 32
"""Number of backward jumps between two reads of the clock; a power of two."""

_FIRST_ALONE = 0x10
"""Truth table for ``lop3``: a and not b and not c."""

STATEMENT = re.compile(
    r"""(?<![\w$%.:])
        (?P<guard>@!?\s*%[\w$]+\s+)?
        (?P<opcode>(?P<name>ld|st|atom|red|bra|brx|bar|barrier|shfl|vote|match|redux|elect|ret|exit
            |trap|brkpt|call|cp|ldmatrix|stmatrix|mbarrier|sust|suld|sured)
            (?:\.[a-zA-Z\d]\w*(?:::\w+)*)*)(?![\w$:(])
        (?P<operands>[^;]*);""",
    re.X,
)
"""Instructions that may do harm, or that need additional code."""

_STOPS = re.compile(r"\b__assertfail\b")
_UNKNOWN = re.compile(r"\s*(?:\([^)]*\)\s*,)?\s*(?:malloc\b|free\b|%)")
_WHOLE_BLOCK = re.compile(r"(?:bar|barrier)(?:\.cta)?\.(?:sync|red)\b")
WARP_WIDE = re.compile(r"(?:shfl|vote|match|redux|elect)\.(?:[\w.]*\.)?sync\b|bar\.warp\.sync\b")
"""Operations of several threads of a warp, with their mask as the last operand."""


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
"""Code before a backward jump: past the deadline, the thread exits."""

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
    # The address of this warp's slot: the warp's number in its block, times four.
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
    # All threads of the warp are active here.
    "activemask.b32 %gi_lanes;",
    "not.b32 %gi_lanes, %gi_lanes;",
    f"st.volatile.shared.u32 [%gi_slot+{_GONE}], %gi_lanes;",
)


def prologue(function: Function, *, numbered: bool) -> str:
    """Return the code at the begin of a function.

    Args:
        numbered: whether its confined form contains numbers, i.e. barriers.
    """
    slot = _SLOT if numbered or function.warps else ()
    slot = (*slot, _SELF) if function.warps else slot
    first = _FIRST if function.entry and function.warps else ()
    return " ".join([*_DECLARED, *slot, *first])


def harmless(found: re.Match[str], function: Function) -> Sequence[Piece] | None:
    """Return the confined form of an instruction.

    Empty if it stays unchanged; None if it may do harm and cannot be confined.
    """
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
    """Return the replacement of an instruction that stops the device."""
    strays = "setp.eq.u32 %gi_test, %gi_jumps, %gi_jumps;"
    if test := tested(guard):
        strays = f"setp.eq.and.u32 %gi_test, %gi_jumps, %gi_jumps, {test};"
    return [strays, "or.pred %gi_strayed, %gi_strayed, %gi_test;", *_REPORT, "@%gi_test exit;"]


def _together(guard: str, opcode: str, operands: str) -> list[str]:
    """Return an operation of those threads of a warp that are active."""
    operands = operands.rstrip()
    at = max(map(operands.rfind, (",", " ", "\t"))) + 1
    return [_asked(guard, operands[at:]), f"{guard}{opcode}{operands[:at]}%gi_lanes;"]


@lru_cache(maxsize=1024)
def _asked(guard: str, mask: str) -> str:
    """Return code before an operation of several threads: finds who is active, sets signs.

    If a thread is not in its own mask, CUDA leaves the result undefined. The operation does not
    wait for threads that have exited, but may wait for ever for threads that went elsewhere.
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
    """Return the confined form of a barrier for all threads of a block; None for other barriers."""
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
