"""Force PTX addresses to harmless memory; see :mod:`gi_cuda.backends.cuda.ptx.confine`."""

from __future__ import annotations

import re

from gi_cuda.backends.cuda.ptx.function import Form, Function

BASE = 1 << 44
"""First address of the window that holds the buffers of rehearsals in every process.

It is a multiple of :data:`SIZE`, and far from all addresses that programs on Linux use.
"""

SIZE = 1 << 35
"""Bytes of the window; a power of two."""

GRANULE = 32
"""Bytes of the window per byte of its shadow.

A byte of the shadow is the number of bytes in its granule, counted from the first, that launches
may access. No access is wider than a granule, so one byte of the shadow suffices for an access.
"""

SHADOW = 1 << 43
"""First address of the shadow in every process; a multiple of ``1 << 32``, and also far from all
addresses that programs use."""

WIDTHS = (1, 2, 4, 8, 16, 32)
"""Possible widths of an access in bytes."""

_BOTH_OR_THIRD = 0xEA
"""Truth table for ``lop3``: (a and b) or c."""

_BASE, _OFFSET = "\0", "\1"
"""Placeholders for an access's register and offset in its form."""

_PLACE = re.compile(r"\[\s*(?P<base>%[\w$]+)\s*(?:\+\s*(?P<offset>-?\w+)\s*)?\]")
_SPACE = re.compile(r"\.(global|shared(?:::\w+)?|local|const|param(?:::\w+)?)(?=\.|\Z)")
_TYPE = re.compile(r"\.(?:[busf]|bf)(\d+)(x2)?(?=\.|\Z)")
_VECTOR = re.compile(r"\.v([248])(?=\.|\Z)")
_COPY = re.compile(r"cp\.async\.c[ag]\.shared\.global(?:\.L2::\w+)*")
_COPIED = re.compile(r"\]\s*,\s*(\d+)")


def access(guard: str, opcode: str, operands: str, function: Function) -> list[str] | None:
    """Confine a load, store or atomic operation; as :func:`.harmless.harmless` returns it."""
    place = _PLACE.search(operands)
    if place is None:
        return []
    base, offset = place.groups("0")
    wide, moved, test = function.width(base) == 64, offset != "0", tested(guard)
    key = opcode, wide, moved, test
    if key not in function.forms:
        function.forms[key] = _form(opcode, wide, moved, test, function)
    form = function.forms[key]
    if form is None or not form.steps:
        return None if form is None else []
    steps = form.steps.replace(_BASE, base).replace(_OFFSET, offset)
    before, after = operands[: place.start()], operands[place.end() :]
    return [f"{steps} {guard}{opcode}{before}[{form.forced}]{after};"]


def _form(opcode: str, wide: bool, moved: bool, test: str, function: Function) -> Form | None:
    """Return how accesses that differ in registers and offsets only are confined.

    Empty if they do no harm, None if that is not known.

    Args:
        wide: whether the address has 64 bits.
        moved: whether there is an offset.
        test: predicate that decides whether the access is executed.
    """
    space = _SPACE.search(opcode)
    if space and space[1].startswith(("param", "const")):
        return Form("", "")
    width = 16 if "matrix" in opcode else _width(opcode)
    if width is None:
        return None
    address, steps = _BASE, []
    if moved:
        address = "%gi_address" if wide else "%gi_lanes"
        steps = [f"add.s{64 if wide else 32} {address}, {_BASE}, {_OFFSET};"]
    forced, compare = "%gi_forced", ("setp.ne.u64", f"{address}, %gi_forced")
    looked: list[str] = []
    match space[1] if space else "generic":
        case "shared" | "shared::cta":
            if wide:
                steps.append(f"cvt.u32.u64 %gi_lanes, {address};")
                address = "%gi_lanes"
            steps += _in_shared(address, width)
            forced, compare = "%gi_word", ("setp.ne.u32", f"%gi_word, {address}")
        case "global" if wide:
            steps += _in_window(address, width, function)
            looked = _looked_up(width, test, only_window=not function.variables)
        case "local" if wide and function.stack:
            steps += _in_stack(address, *function.stack, width)
        case "generic" if wide:
            steps += _anywhere(address, width, function)
            looked = _looked_up(width, test, only_window=False)
        case _:
            return None
    return Form(" ".join([*steps, *noted(*compare, test), *looked]), forced)


def tested(guard: str) -> str:
    """Return the predicate of a guard."""
    return guard.strip().removeprefix("@").strip()


def noted(opcode: str, operands: str, test: str, kind: str = "strayed") -> list[str]:
    """Return code that sets a sign if a comparison holds and the instruction is executed."""
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


def _looked_up(width: int, test: str, *, only_window: bool) -> list[str]:
    """Return code that sets a sign if the forced address is not, or not wholly, in a buffer.

    Args:
        only_window: whether the address can only be in the window.
    """
    steps = [
        "mov.b64 {%gi_lanes, %gi_word}, %gi_forced;",
        # The granule's number; the bits of the window's base are not among these 32.
        f"shf.r.wrap.b32 %gi_word, %gi_lanes, %gi_word, {GRANULE.bit_length() - 1};",
        f"mov.b64 %gi_away, {{%gi_word, {SHADOW >> 32}}};",
    ]
    guard = ""
    if not only_window:
        guard, bits = "@%gi_here ", SIZE.bit_length() - 1
        steps += [
            f"shr.u64 %gi_edge, %gi_forced, {bits};",
            f"setp.eq.u64 %gi_here, %gi_edge, {BASE >> bits};",
            f"mov.u32 %gi_word, {GRANULE};",
        ]
    return [
        *steps,
        f"{guard}ld.global.nc.u8 %gi_word, [%gi_away];",
        # The last accessed byte, counted from the granule's first one.
        f"lop3.b32 %gi_lanes, %gi_lanes, {GRANULE - 1}, {width - 1}, {_BOTH_OR_THIRD};",
        *noted("setp.ge.u32", "%gi_lanes, %gi_word", test, "beside"),
    ]


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
    """Return code that confines a generic address, whose memory space only the device knows."""
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
    if function.stack is None:  # the stack belongs to a caller of this function
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


def copy(guard: str, opcode: str, operands: str, function: Function) -> list[str] | None:
    """Confine an asynchronous copy from global to shared memory; as :func:`.harmless.harmless`."""
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
    width, test = int(size[1]), tested(guard)
    # A further operand may reduce the number of bytes that are read.
    whole = not operands[size.end() :].strip()
    looked = _looked_up(width, test, only_window=not function.variables) if whole else []
    return [
        f"add.s64 %gi_address, {out['base']}, {out['offset'] or 0};",
        *_in_window("%gi_address", width, function),
        *noted("setp.ne.u64", "%gi_address, %gi_forced", test),
        *looked,
        f"add.s32 %gi_lanes, {into['base']}, {into['offset'] or 0};",
        *_in_shared("%gi_lanes", width),
        *noted("setp.ne.u32", "%gi_word, %gi_lanes", test),
        f"{guard}{opcode} [%gi_word], [%gi_forced]{operands[out.end() :]};",
    ]


def _width(opcode: str) -> int | None:
    """Return the bytes that an access reads or writes at once; None if that is not known."""
    kind, vector = _TYPE.search(opcode), _VECTOR.search(opcode)
    if kind is None:
        return None
    bits = int(kind[1]) * (2 if kind[2] else 1)
    width = bits // 8 * (int(vector[1]) if vector else 1)
    return width if width in WIDTHS else None
