"""PTX instructions made to do no harm, one by one: see :mod:`gi_cuda.backends.cuda.ptx.confine`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

BASE = 1 << 44
"""The first address of the window in which the buffers of rehearsals lie in every process, a
multiple of :data:`SIZE`; far from where programs on Linux have anything."""

SIZE = 1 << 35
"""Bytes of that window; a power of two."""

CONTROL = BASE + (1 << 34)
"""Where the deadline lies, in nanoseconds of the device's clock; behind it the signs."""

SIGNS: Mapping[str, int] = {
    "late": CONTROL + 8,
    "strayed": CONTROL + 12,
    "parted": CONTROL + 16,
    "unnamed": CONTROL + 20,
    "alone": CONTROL + 24,
}
"""Where a word is changed by code that is not done at the deadline, that would have crashed, of
which threads of a warp are at different barriers, where a thread takes part in something that is
not for it, or which waits for threads of its warp that do not come."""

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

_PLACE = re.compile(r"\[\s*(?P<base>%[\w$]+)\s*(?:\+\s*(?P<offset>-?\w+)\s*)?\]")
_MASK = re.compile(r"(?P<before>.*?)(?P<mask>-?[%\w$]+)\s*\Z", re.S)
_SPACE = re.compile(r"\.(global|shared(?:::\w+)?|local|const|param(?:::\w+)?)(?=\.|\Z)")
_TYPE = re.compile(r"\.(?:[busf]|bf)(\d+)(x2)?(?=\.|\Z)")
_VECTOR = re.compile(r"\.v([248])(?=\.|\Z)")
_COPY = re.compile(r"cp\.async\.c[ag]\.shared\.global(?:\.L2::\w+)*")
_COPIED = re.compile(r"\]\s*,\s*(\d+)")
_STOPS = re.compile(r"\b__assertfail\b")
_UNKNOWN = re.compile(r"\s*(?:\([^)]*\)\s*,)?\s*(?:malloc\b|free\b|%)")
_WHOLE_BLOCK = re.compile(r"(?:bar|barrier)(?:\.cta)?\.(?:sync|red)\b")
WARP_WIDE = re.compile(r"(?:shfl|vote|match|redux|elect)\.(?:[\w.]*\.)?sync\b|bar\.warp\.sync\b")
"""What threads of a warp do together, those of a mask that is the last operand."""


@dataclass(frozen=True)
class Function:
    """What has to be known of a function to confine its instructions.

    Attributes:
        entry: whether it is a kernel.
        warps: whether threads of a warp do something together anywhere in its module.
        registers: bits of registers, by the letters that their names begin with, and of those that
            were declared one by one, by name.
        variables: those of the module in global memory that it names, with their bytes.
        stack: name and bytes of the memory of its own; None where it has none.
        lines: of such functions, what has become of lines.
    """

    entry: bool
    warps: bool
    registers: tuple[tuple[str, int], ...]
    variables: tuple[tuple[str, int], ...]
    stack: tuple[str, int] | None
    lines: dict[str, str | Line] = field(default_factory=dict, compare=False)

    @cached_property
    def _widths(self) -> Mapping[str, int]:
        return dict(self.registers)

    def width(self, register: str) -> int:
        """Bits of a register."""
        widths = self._widths
        return widths.get(register) or widths.get(register.rstrip("0123456789"), 64)


@dataclass(frozen=True, slots=True)
class Jump:
    """A jump: where to, and the instruction."""

    target: str
    text: str


@dataclass(frozen=True, slots=True)
class Numbered:
    """What needs a number of its own in its function; the text by that number."""

    text: Callable[[int], str]


Piece: TypeAlias = str | Jump | Numbered


@dataclass(frozen=True, slots=True)
class Line:
    """A line of which it depends on others what becomes of it.

    Attributes:
        labels: that stand in it.
        left: opcodes that may do harm and are left as they are.
    """

    labels: Sequence[str]
    pieces: Sequence[Piece]
    left: Sequence[str]


def _sign(kind: str) -> str:
    return f"st.volatile.global.u32 [%gi_control+{SIGNS[kind] - CONTROL}], 1;"


_WIDTHS = (1, 2, 4, 8, 16, 32)
_KEPT = ("strayed", "parted", "unnamed", "alone")
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
    f".reg .b32 {', '.join(f'%gi_last{width}' for width in _WIDTHS)};",
    f".reg .pred %gi_test, %gi_here, {', '.join(f'%gi_{kind}' for kind in _KEPT)};",
    f"mov.u64 %gi_control, {CONTROL};",
    "ld.volatile.global.u64 %gi_deadline, [%gi_control];",
    "mov.u32 %gi_jumps, 0;",
    "mov.u64 %gi_address, 0;",
    "mov.u32 %gi_end, %total_smem_size;",
    *(f"add.u32 %gi_last{width}, %gi_end, {_RESERVED - width};" for width in _WIDTHS),
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
    name, opcode, operands = found["name"], found["opcode"], found["operands"]
    guard = found["guard"] or ""
    match name:
        case "ld" | "st" | "atom" | "red" | "ldmatrix" | "stmatrix" | "mbarrier":
            return _joined(_access(guard, opcode, operands, function))
        case "bra":
            return [Jump(operands.split()[-1], found[0])]
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
            return _joined(_copy(guard, opcode, operands, function))
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
    if test := _tested(guard):
        strays = f"setp.eq.and.u32 %gi_test, %gi_jumps, %gi_jumps, {test};"
    return [strays, "or.pred %gi_strayed, %gi_strayed, %gi_test;", *_REPORT, "@%gi_test exit;"]


def _together(guard: str, opcode: str, operands: str) -> list[str]:
    """An operation of those threads of a warp that are there.

    Of who is not among those that it is for, CUDA does not say what becomes. If it is for others,
    too, it does not wait for those that are no more; for those that went elsewhere it may wait for
    ever.
    """
    found = _MASK.fullmatch(operands)
    assert found is not None
    mask, test = found["mask"], _tested(guard)
    return [
        f"{guard}activemask.b32 %gi_lanes;",
        f"and.b32 %gi_word, %gi_self, {mask};",
        *_noted("setp.eq.u32", "%gi_word, 0", test, "unnamed"),
        f"ld.volatile.shared.u32 %gi_word, [%gi_slot+{_GONE}];",
        f"lop3.b32 %gi_word, {mask}, %gi_lanes, %gi_word, {_FIRST_ALONE};",
        *_noted("setp.ne.u32", "%gi_word, 0", test, "alone"),
        f"{guard}{opcode}{found['before']}%gi_lanes;",
    ]


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
            *_noted("setp.ne.u32", f"%gi_word, {number}", "", "parted"),
            f"{guard}{each}{operands};",
        ]
        return " ".join(steps)

    return [Numbered(text)]


def _access(guard: str, opcode: str, operands: str, function: Function) -> list[str] | None:
    """A load, store or atomic operation."""
    space = _SPACE.search(opcode)
    place = _PLACE.search(operands)
    if place is None or (space and space[1].startswith(("param", "const"))):
        return []
    width = 16 if "matrix" in opcode else _width(opcode)
    wide = function.width(place["base"]) == 64
    base, offset = place["base"], place["offset"] or "0"
    if width is None:
        return None
    address, steps = base, []
    if offset != "0":
        address = "%gi_address" if wide else "%gi_lanes"
        steps = [f"add.s{64 if wide else 32} {address}, {base}, {offset};"]
    forced, compare = "%gi_forced", ("setp.ne.u64", f"{address}, %gi_forced")
    match space[1] if space else "generic":
        case "shared" | "shared::cta":
            if wide:
                steps.append(f"cvt.u32.u64 %gi_lanes, {address};")
                address = "%gi_lanes"
            steps += _in_shared(address, width)
            forced, compare = "%gi_word", ("setp.ne.u32", f"%gi_word, {address}")
        case "global" if wide:
            steps += _in_window(address, width, function)
        case "local" if wide and function.stack:
            steps += _in_stack(address, *function.stack, width)
        case "generic" if wide:
            steps += _anywhere(address, width, function)
        case _:
            return None
    before, after = operands[: place.start()], operands[place.end() :]
    last = f"{guard}{opcode}{before}[{forced}]{after};"
    return [*steps, *_noted(*compare, _tested(guard)), last]


def _tested(guard: str) -> str:
    """The predicate that a guard asks for."""
    return guard.strip().removeprefix("@").strip()


def _noted(opcode: str, operands: str, test: str, kind: str = "strayed") -> list[str]:
    """Enter a sign where a comparison holds and the instruction in question is carried out."""
    compare, _, of = opcode.rpartition(".")
    if not test:
        return [f"{compare}.or.{of} %gi_{kind}, {operands}, %gi_{kind};"]
    return [
        f"{compare}.and.{of} %gi_test, {operands}, {test};",
        f"or.pred %gi_{kind}, %gi_{kind}, %gi_test;",
    ]


def _in_window(address: str, width: int, function: Function) -> list[str]:
    steps = [
        f"and.b64 %gi_forced, {address}, {SIZE - width};",
        f"or.b64 %gi_forced, %gi_forced, {BASE};",
    ]
    for name, size in function.variables:
        steps += [
            f"and.b64 %gi_edge, {address}, {-width};",
            f"mov.u64 %gi_away, {name};",
            "sub.s64 %gi_away, %gi_edge, %gi_away;",
            f"setp.le.u64 %gi_here, %gi_away, {max(0, size - width)};",
            "selp.b64 %gi_forced, %gi_edge, %gi_forced, %gi_here;",
        ]
    return steps


def _in_shared(address: str, width: int) -> list[str]:
    last = f"min.u32 %gi_word, {address}, %gi_last{width};"
    return [last, f"and.b32 %gi_word, %gi_word, {-width};"] if width > 1 else [last]


def _in_stack(address: str, name: str, size: int, width: int) -> list[str]:
    return [
        f"mov.u64 %gi_edge, {name};",
        f"sub.s64 %gi_away, {address}, %gi_edge;",
        f"min.u64 %gi_away, %gi_away, {max(0, size - width)};",
        f"and.b64 %gi_away, %gi_away, {-width};",
        "add.s64 %gi_forced, %gi_edge, %gi_away;",
    ]


def _anywhere(address: str, width: int, function: Function) -> list[str]:
    """An address of which only the device knows what memory it means."""
    steps = [
        *_in_window(address, width, function),
        f"isspacep.const %gi_here, {address};",
        f"selp.b64 %gi_forced, {address}, %gi_forced, %gi_here;",
        f"cvta.to.shared.u64 %gi_away, {address};",
        "cvt.u32.u64 %gi_word, %gi_away;",
        *_in_shared("%gi_word", width),
        "cvt.u64.u32 %gi_away, %gi_word;",
        "cvta.shared.u64 %gi_away, %gi_away;",
        f"isspacep.shared %gi_here, {address};",
        "selp.b64 %gi_forced, %gi_away, %gi_forced, %gi_here;",
        f"isspacep.local %gi_here, {address};",
    ]
    if function.stack is None:  # it is that of a function that called this one
        return [*steps, f"selp.b64 %gi_forced, {address}, %gi_forced, %gi_here;"]
    name, size = function.stack
    return [
        *steps,
        f"mov.u64 %gi_edge, {name};",
        "cvta.local.u64 %gi_edge, %gi_edge;",
        f"sub.s64 %gi_away, {address}, %gi_edge;",
        f"min.u64 %gi_away, %gi_away, {max(0, size - width)};",
        f"and.b64 %gi_away, %gi_away, {-width};",
        "add.s64 %gi_away, %gi_edge, %gi_away;",
        "selp.b64 %gi_forced, %gi_away, %gi_forced, %gi_here;",
    ]


def _copy(guard: str, opcode: str, operands: str, function: Function) -> list[str] | None:
    """An asynchronous copy from global to shared memory."""
    places = list(_PLACE.finditer(operands))
    if not places:
        return []
    size = _COPIED.search(operands, places[-1].start())
    plain = _COPY.fullmatch(opcode)
    if plain is None or len(places) != 2 or size is None:
        return None
    into, out = places
    if function.width(into["base"]) != 32 or function.width(out["base"]) != 64:
        return None
    width, test = int(size[1]), _tested(guard)
    return [
        f"add.s64 %gi_address, {out['base']}, {out['offset'] or 0};",
        *_in_window("%gi_address", width, function),
        *_noted("setp.ne.u64", "%gi_address, %gi_forced", test),
        f"add.s32 %gi_lanes, {into['base']}, {into['offset'] or 0};",
        *_in_shared("%gi_lanes", width),
        *_noted("setp.ne.u32", "%gi_word, %gi_lanes", test),
        f"{guard}{opcode} [%gi_word], [%gi_forced]{operands[out.end() :]};",
    ]


def _width(opcode: str) -> int | None:
    """Bytes that an access reads or writes at once; None where that is not understood."""
    kind, vector = _TYPE.search(opcode), _VECTOR.search(opcode)
    if kind is None:
        return None
    bits = int(kind[1]) * (2 if kind[2] else 1)
    width = bits // 8 * (int(vector[1]) if vector else 1)
    return width if width in _WIDTHS else None
