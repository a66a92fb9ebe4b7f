"""PTX made to do no harm, whatever it was: accesses stay in a window, nobody is waited for, and all
threads leave when time is over.

Software fault isolation (Wahbe et al., SOSP 1993): in front of every access through a register its
address is forced into a window, and onto a multiple of its width. What stays in the window anyhow,
as all that is right does, reads and writes what it did before. An address that had to be forced
leaves a sign: unconfined, it would have been a crash. The window holds the buffers of the cases
that give fitness; a variable of the module's own is let through within its bounds, and an access to
a function's own stack is forced into that.

What threads of a warp do together (shuffles, votes) waits for all that its mask names. Here it is
done by those that come there together, so that nobody waits for a thread that went elsewhere. In
code that is right these are those of the mask: nvcc lets threads that parted meet again first.

A barrier of a block waits for every thread by itself, wherever that waits, and not for those that
left. Whether the threads of a warp are all at the same one is found out in front of it: if they are
not, CUDA does not say what happens, and mostly it is an endless wait.

Jumps backwards are counted, and now and then one looks at the clock. Past the deadline, which lies
where the device finds it (:data:`CONTROL`), threads leave.

Left as they are (:func:`left_alone` names them): barriers for some of a block's threads, addresses
that only other units than threads use (bulk copies, matrix loads), calls through pointers, calls of
the device's own ``malloc`` and ``free``. Fetches from textures give zeros outside their memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gi_cuda.backends.cuda.ptx.module import blocks

BASE = 1 << 44
"""The first address of the window in which the buffers of rehearsals lie in every process, a
multiple of :data:`SIZE`; far from where programs on Linux have anything."""

SIZE = 1 << 35
"""Bytes of that window; a power of two."""

CONTROL = BASE + (1 << 34)
"""Where the deadline lies, in nanoseconds of the device's clock; behind it the signs."""

SIGNS: Mapping[str, int] = {"strayed": CONTROL + 8, "parted": CONTROL + 12, "late": CONTROL + 16}
"""Where a word is changed by code that would have crashed, that parted at a barrier, or that was
not done at the deadline."""

_RESERVED = 1024
"""Bytes of shared memory that the system has in front of a block's own, at most."""

_EVERY = 32
"""Jumps backwards between two looks at the clock; a power of two."""

_SLOTS = "gi_barrier_of_warp"
MODULE = f".shared .align 4 .b8 {_SLOTS}[128];\n"
"""What a module with confined functions has in front of them."""

_COMMENT = re.compile(r"//[^\n]*")
_LABEL = re.compile(r"(?<![\w$%.:])([\w$]+):(?![:\w])")
_STATEMENT = re.compile(
    r"""(?<![\w$%.:])
        (?P<guard>@!?\s*%[\w$]+\s+)?
        (?P<opcode>(?P<name>ld|st|atom|red|bra|brx|bar|barrier|shfl|vote|match|redux|elect|ret|exit
            |trap|brkpt|call|cp|ldmatrix|stmatrix|mbarrier|sust|suld|sured)
            (?:\.[a-zA-Z\d]\w*(?:::\w+)*)*)(?![\w$:(])
        (?P<operands>[^;]*);""",
    re.X,
)
_PLACE = re.compile(r"\[\s*(?P<base>%[\w$]+)\s*(?:\+\s*(?P<offset>-?\w+)\s*)?\]")
_MASK = re.compile(r"(?P<before>.*?)-?[%\w$]+\s*\Z", re.S)
_SPACE = re.compile(r"\.(global|shared(?:::\w+)?|local|const|param(?:::\w+)?)(?=\.|\Z)")
_TYPE = re.compile(r"\.(?:[busf]|bf)(\d+)(x2)?(?=\.|\Z)")
_VECTOR = re.compile(r"\.v([248])(?=\.|\Z)")
_REGISTERS = re.compile(r"\.reg\s+\.[a-z]+(\d+)\s+([^;]+);")
_VARIABLE = re.compile(
    r"^[^\n]*?\.global\s+(?:\.align\s+\d+\s+)?\.[busf](\d+)\s+([\w$]+)(?:\[(\d+)\])?", re.M
)
_STACK = re.compile(r"\.local\s+(?:\.align\s+\d+\s+)?\.b8\s+([\w$]+)\[(\d+)\]")
_ENTRY = re.compile(r"^(?:\.(?:visible|weak|extern)\s+)?\.entry\b", re.M)
_LEAVES = re.compile(r"\b(__assertfail)\b")
_UNKNOWN = re.compile(r"\s*(?:\([^)]*\)\s*,)?\s*(?:malloc\b|free\b|%)")
_WHOLE_BLOCK = re.compile(r"(?:bar|barrier)(?:\.cta)?\.(?:sync|red)\b")

_REPORT = (
    f"@%gi_strayed st.volatile.global.u32 [%gi_control+{SIGNS['strayed'] - CONTROL}], 1;",
    f"@%gi_parted st.volatile.global.u32 [%gi_control+{SIGNS['parted'] - CONTROL}], 1;",
)
_LATE = f"st.volatile.global.u32 [%gi_control+{SIGNS['late'] - CONTROL}], 1;"
_TICK = (
    "add.u32 %gi_jumps, %gi_jumps, 1;",
    f"and.b32 %gi_word, %gi_jumps, {_EVERY - 1};",
    "setp.eq.u32 %gi_test, %gi_word, 0;",
    "@%gi_test mov.u64 %gi_address, %globaltimer;",
    "setp.gt.and.u64 %gi_test, %gi_address, %gi_deadline, %gi_test;",
    f"@%gi_test {_LATE}",
    "@%gi_test exit;",
)
_DECLARED = (
    ".reg .b64 %gi_control, %gi_deadline, %gi_address, %gi_forced, %gi_away, %gi_edge;",
    ".reg .b32 %gi_jumps, %gi_word, %gi_slot, %gi_end, %gi_last, %gi_lanes;",
    ".reg .pred %gi_test, %gi_here, %gi_strayed, %gi_parted;",
)
_PROLOGUE = (
    f"mov.u64 %gi_control, {CONTROL};",
    "ld.volatile.global.u64 %gi_deadline, [%gi_control];",
    "mov.u32 %gi_jumps, 0;",
    "mov.u64 %gi_address, 0;",
    "mov.u32 %gi_end, %total_smem_size;",
    f"add.u32 %gi_end, %gi_end, {_RESERVED};",
    "setp.ne.u32 %gi_strayed, %gi_jumps, 0;",
    "setp.ne.u32 %gi_parted, %gi_jumps, 0;",
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
    f"mov.u32 %gi_word, {_SLOTS};",
    "add.u32 %gi_slot, %gi_slot, %gi_word;",
)


@dataclass(frozen=True, slots=True)
class _Function:
    """What has to be known of a function to confine its instructions.

    Attributes:
        widths: bits of registers, by the letters that their names begin with, and of those that
            were declared one by one, by name.
        variables: bytes of the module's variables in global memory that it names.
        stack: name and bytes of the memory of its own; None where it has none.
        labels: where they stand.
    """

    widths: Mapping[str, int]
    variables: Mapping[str, int]
    stack: tuple[str, int] | None
    labels: Mapping[str, int]

    def width(self, register: str) -> int:
        """Bits of a register."""
        return self.widths.get(register) or self.widths.get(register.rstrip("0123456789"), 64)


_HEAD_END = re.compile(r"^[ \t]*\.address_size[^\n]*\n", re.M)


def confined_module(text: str) -> str:
    """A module made to do no harm."""
    found = confine(text)
    head = _HEAD_END.search(found.text)
    at = head.end() if head else 0
    return "".join([found.text[:at], MODULE, found.text[at:]])


@dataclass(frozen=True, slots=True)
class Confined:
    """A text that was confined.

    Attributes:
        text: it.
        left: opcodes that might do harm and were left as they are.
    """

    text: str
    left: frozenset[str] = field(default=frozenset())


def confine(text: str) -> Confined:
    """The functions and variables of a module, made to do no harm.

    The module needs :data:`MODULE` in front of them. Lines are no longer where they were.
    """
    text = _COMMENT.sub("", text)
    sizes = {name: int(bits) // 8 * int(n or 1) for bits, name, n in _VARIABLE.findall(text)}
    parts: list[str] = []
    left: set[str] = set()
    at = 0
    for begin, end in blocks(text):
        body = text.find("{", begin.start(), end) if begin["function"] else -1
        if body >= 0:
            parts.append(text[at : body + 1])
            parts.append(_confined_body(text[body + 1 : end], sizes, left))
            at = end
    parts.append(text[at:])
    assert ".entry" not in _ENTRY.sub("", text), "a kernel that was not found stays as it is"
    return Confined("".join(parts), frozenset(left))


def _confined_body(body: str, sizes: Mapping[str, int], left: set[str]) -> str:
    widths: dict[str, int] = {}
    for bits, names in _REGISTERS.findall(body):
        for name in names.split(","):
            widths[name.strip().split("<")[0]] = int(bits)
    stack = _STACK.search(body)
    function = _Function(
        widths,
        {name: size for name, size in sizes.items() if name in body},
        (stack[1], int(stack[2])) if stack else None,
        {found[1]: found.start() for found in _LABEL.finditer(body)},
    )
    parts, at, barriers = [], 0, 0
    for found in _STATEMENT.finditer(body):
        barrier = _WHOLE_BLOCK.match(found["opcode"]) is not None
        barriers += barrier
        steps = _barrier(found, barriers) if barrier else _steps(found, function)
        if steps is None:
            left.add(found["opcode"])
        elif steps:
            parts += [body[at : found.start()], " ".join(steps)]
            at = found.end()
    start = [*_DECLARED, *_PROLOGUE, *(_SLOT if barriers else ())]
    return "".join(["\n", " ".join(start), *parts, body[at:]])


def _steps(found: re.Match[str], function: _Function) -> list[str] | None:
    """What takes an instruction's place; nothing where it stays, None where it may do harm and
    nothing is known against that."""
    name, opcode, operands = found["name"], found["opcode"], found["operands"]
    guard = found["guard"] or ""
    match name:
        case "ld" | "st" | "atom" | "red" | "ldmatrix" | "stmatrix" | "mbarrier":
            return _access(guard, opcode, operands, function)
        case "bra":
            target = function.labels.get(operands.split()[-1])
            back = target is None or target <= found.start()
            return [*_TICK, found[0]] if back else []
        case "brx":
            return [*_TICK, found[0]]
        case "ret" | "exit":
            return [*_REPORT, found[0]]
        case "trap" | "brkpt":
            return _leave(guard)
        case "call":
            if _LEAVES.search(operands):
                return _leave(guard)
            return None if _UNKNOWN.match(operands) else []
        case "shfl" | "vote" | "match" | "redux" | "elect":
            return _together(guard, opcode, operands) if ".sync" in opcode else []
        case "bar" | "barrier":
            return _together(guard, opcode, operands) if opcode == "bar.warp.sync" else None
        case "suld" | "sust" | "sured":
            return [f"{guard}{opcode.replace('.trap', '.zero')}{operands};"]
        case "cp":
            return _copy(guard, opcode, operands, function)
    return None


def _leave(guard: str) -> list[str]:
    """In place of what stops the device."""
    strays = "setp.eq.u32 %gi_test, %gi_jumps, %gi_jumps;"
    if test := _tested(guard):
        strays = f"setp.eq.and.u32 %gi_test, %gi_jumps, %gi_jumps, {test};"
    return [strays, "or.pred %gi_strayed, %gi_strayed, %gi_test;", *_REPORT, "@%gi_test exit;"]


def _together(guard: str, opcode: str, operands: str) -> list[str]:
    """An operation of those threads of a warp that are there."""
    found = _MASK.fullmatch(operands)
    assert found is not None
    active = f"{guard}activemask.b32 %gi_lanes;"
    return [active, f"{guard}{opcode}{found['before']}%gi_lanes;"]


def _barrier(found: re.Match[str], number: int) -> list[str] | None:
    """A barrier for all threads of a block, of which it is the one with that number in its
    function; None for others."""
    red = ".red" in found["opcode"]
    operands = [one.strip() for one in found["operands"].split(",")]
    which = operands[1] if red else operands[0]
    if which != "0" or len(operands) != (3 if red else 1):
        return None
    guard = found["guard"] or ""
    opcode = found["opcode"].replace(".aligned", "").replace("bar.", "barrier.", 1)
    return [
        f"{guard}st.volatile.shared.u32 [%gi_slot], {number};",
        f"{guard}bar.warp.sync -1;",
        f"mov.u32 %gi_word, {number};",
        f"{guard}ld.volatile.shared.u32 %gi_word, [%gi_slot];",
        f"setp.ne.u32 %gi_test, %gi_word, {number};",
        "or.pred %gi_parted, %gi_parted, %gi_test;",
        f"{guard}{opcode}{found['operands']};",
    ]


def _access(guard: str, opcode: str, operands: str, function: _Function) -> list[str] | None:
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
    steps = [f"add.s64 %gi_address, {base}, {offset};"] if wide else []
    forced, compare = "%gi_forced", ("setp.ne.u64", "%gi_address, %gi_forced")
    match space[1] if space else "generic":
        case "shared" | "shared::cta":
            if wide:
                steps.append("cvt.u32.u64 %gi_word, %gi_address;")
                base, offset = "%gi_word", "0"
            steps += _in_shared(base, offset, width)
            forced, compare = "%gi_word", ("setp.ne.u32", "%gi_word, %gi_lanes")
        case "global" if wide:
            steps += _in_window(width, function)
        case "local" if wide and function.stack:
            steps += _in_stack(*function.stack, width)
        case "generic" if wide:
            steps += _anywhere(width, function)
        case _:
            return None
    before, after = operands[: place.start()], operands[place.end() :]
    last = f"{guard}{opcode}{before}[{forced}]{after};"
    return [*steps, *_noted(*compare, _tested(guard)), last]


def _tested(guard: str) -> str:
    """The predicate that a guard asks for."""
    return guard.strip().removeprefix("@").strip()


def _noted(opcode: str, operands: str, test: str) -> list[str]:
    """Enter that an address had to be forced, where its instruction is carried out."""
    if test:
        compare, _, kind = opcode.rpartition(".")
        opcode, operands = f"{compare}.and.{kind}", f"{operands}, {test}"
    return [f"{opcode} %gi_test, {operands};", "or.pred %gi_strayed, %gi_strayed, %gi_test;"]


def _in_window(width: int, function: _Function) -> list[str]:
    steps = [
        f"and.b64 %gi_forced, %gi_address, {SIZE - width};",
        f"or.b64 %gi_forced, %gi_forced, {BASE};",
    ]
    for name, size in function.variables.items():
        steps += [
            f"and.b64 %gi_edge, %gi_address, {-width};",
            f"mov.u64 %gi_away, {name};",
            "sub.s64 %gi_away, %gi_edge, %gi_away;",
            f"setp.le.u64 %gi_here, %gi_away, {max(0, size - width)};",
            "selp.b64 %gi_forced, %gi_edge, %gi_forced, %gi_here;",
        ]
    return steps


def _in_shared(base: str, offset: str, width: int) -> list[str]:
    return [
        f"add.s32 %gi_lanes, {base}, {offset};",
        f"sub.s32 %gi_last, %gi_end, {width};",
        "min.u32 %gi_word, %gi_lanes, %gi_last;",
        f"and.b32 %gi_word, %gi_word, {-width};",
    ]


def _in_stack(name: str, size: int, width: int) -> list[str]:
    return [
        f"mov.u64 %gi_edge, {name};",
        "sub.s64 %gi_away, %gi_address, %gi_edge;",
        f"min.u64 %gi_away, %gi_away, {max(0, size - width)};",
        f"and.b64 %gi_away, %gi_away, {-width};",
        "add.s64 %gi_forced, %gi_edge, %gi_away;",
    ]


def _anywhere(width: int, function: _Function) -> list[str]:
    """An address of which only the device knows what memory it means."""
    steps = [
        *_in_window(width, function),
        "isspacep.const %gi_here, %gi_address;",
        "selp.b64 %gi_forced, %gi_address, %gi_forced, %gi_here;",
        "cvta.to.shared.u64 %gi_away, %gi_address;",
        "cvt.u32.u64 %gi_word, %gi_away;",
        *_in_shared("%gi_word", "0", width),
        "cvt.u64.u32 %gi_away, %gi_word;",
        "cvta.shared.u64 %gi_away, %gi_away;",
        "isspacep.shared %gi_here, %gi_address;",
        "selp.b64 %gi_forced, %gi_away, %gi_forced, %gi_here;",
        "isspacep.local %gi_here, %gi_address;",
    ]
    if function.stack is None:  # it is that of a function that called this one
        return [*steps, "selp.b64 %gi_forced, %gi_address, %gi_forced, %gi_here;"]
    name, size = function.stack
    return [
        *steps,
        f"mov.u64 %gi_edge, {name};",
        "cvta.local.u64 %gi_edge, %gi_edge;",
        "sub.s64 %gi_away, %gi_address, %gi_edge;",
        f"min.u64 %gi_away, %gi_away, {max(0, size - width)};",
        f"and.b64 %gi_away, %gi_away, {-width};",
        "add.s64 %gi_away, %gi_edge, %gi_away;",
        "selp.b64 %gi_forced, %gi_away, %gi_forced, %gi_here;",
    ]


def _copy(guard: str, opcode: str, operands: str, function: _Function) -> list[str] | None:
    """An asynchronous copy from global to shared memory."""
    places = list(_PLACE.finditer(operands))
    if not places:
        return []
    size = re.search(r"\]\s*,\s*(\d+)", operands[places[-1].start() :])
    plain = re.fullmatch(r"cp\.async\.c[ag]\.shared\.global(?:\.L2::\w+)*", opcode)
    if plain is None or len(places) != 2 or size is None:
        return None
    into, out = places
    if function.width(into["base"]) != 32 or function.width(out["base"]) != 64:
        return None
    width, test = int(size[1]), _tested(guard)
    return [
        f"add.s64 %gi_address, {out['base']}, {out['offset'] or 0};",
        *_in_window(width, function),
        *_noted("setp.ne.u64", "%gi_address, %gi_forced", test),
        *_in_shared(into["base"], into["offset"] or "0", width),
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
    return width if width and width & (width - 1) == 0 else None
