"""Confinement of code, checked by simulating its instructions on addresses."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.backends.cuda.ptx.addresses import BASE, GRANULE, SHADOW, SIZE
from gi_cuda.backends.cuda.ptx.confine import confine, confined_module
from gi_cuda.backends.cuda.ptx.harmless import CONTROL, SIGNS
from gi_cuda.backends.cuda.toolkit import find_toolkit
from gi_cuda.errors import UserError

SHARED = 4096
END = SHARED + 1024
STACK = 64
SAMPLES = sorted((Path(__file__).parents[2] / "sources" / "ptx").glob("*.ptx"))
KERNEL = """.version 9.0
.target sm_90
.address_size 64
.global .align 8 .b8 table[256];
.visible .entry k(
	.param .u64 k_param_0
)
{{
	.local .align 16 .b8 	__local_depot0[64];
	.reg .pred 	%p<9>;
	.reg .b32 	%r<99>;
	.reg .b64 	%rd<99>;
$L__BB0_1:
	{instruction}
	@%p1 bra 	$L__BB0_2;
	{more}
$L__BB0_2:
	ret;

}}
"""
BUFFER = BASE + (1 << 34) + (1 << 17)
PLACES = {"table": 7 << 40, "__local_depot0": 1 << 20}
DONE = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "min": min,
}

addresses = st.one_of(
    st.integers(0, 2**64 - 1),
    st.integers(BASE, BASE + SIZE - 1),
    st.integers(0, 2 * SHARED),
    st.integers(PLACES["table"] - 300, PLACES["table"] + 300),
    st.integers(PLACES["__local_depot0"] - 100, PLACES["__local_depot0"] + 100),
)
offsets = st.integers(-(2**12), 2**12)
kinds = st.sampled_from([("u8", 1), ("v2.f32", 8), ("v4.u32", 16), ("f64", 8)])


def confined(instruction: str, more: str = "") -> str:
    """The line that an instruction of a kernel becomes."""
    text = confine(KERNEL.format(instruction=instruction, more=more))
    (line,) = (one for one in text.split("$L__BB0_1:\n")[1].split("\n")[:1])
    return line.strip()


class Carried(NamedTuple):
    """Address of a confined access; flags: it was forced there, part of it is outside a buffer."""

    place: int
    strayed: bool
    beside: bool


def carried_out(text: str, registers: dict[str, int], size: int = 0) -> Carried:
    """Simulate a confined access, with a buffer of `size` bytes in the window."""
    values = {"%gi_strayed": False, "%gi_beside": False, **PLACES, **registers}
    values |= {f"%gi_last{width}": END - width for width in (1, 2, 4, 8, 16)}
    bits = {"b64": 64, "s64": 64, "u64": 64, "b32": 32, "s32": 32, "u32": 32}

    def value(operand: str) -> int:
        return values[operand] if operand in values else int(operand)

    *steps, last = (step.strip() for step in text.strip(" ;").split(";"))
    for step in steps:
        if step.startswith("@%gi_here "):
            if not values["%gi_here"]:
                continue
            step = step.removeprefix("@%gi_here ")
        operation, _, rest = step.partition(" ")
        name, *_, kind = operation.split(".")
        operands = [word.strip("{}[] ") for word in rest.split(",")]
        to, *of = operands
        if name in DONE and kind in bits:
            values[to] = DONE[name](*(value(one) % 2 ** bits[kind] for one in of)) % 2 ** bits[kind]
        elif name == "mov" and rest.startswith("{"):
            values[to], values[of[0]] = value(of[1]) % 2**32, value(of[1]) >> 32
        elif name == "mov" and len(of) == 2:
            values[to] = value(of[0]) + (value(of[1]) << 32)
        elif name in ("mov", "cvt", "cvta"):
            values[to] = value(of[0]) % (2**32 if ".u32." in operation else 2**64)
        elif name == "shf":
            values[to] = (value(of[0]) + (value(of[1]) << 32) >> value(of[2])) % 2**32
        elif operation == "lop3.b32":
            assert value(of[3]) == 0xEA
            values[to] = value(of[0]) & value(of[1]) | value(of[2])
        elif name == "shr":
            values[to] = value(of[0]) >> value(of[1])
        elif name == "isspacep":
            values[to] = False
        elif operation == "ld.global.nc.u8":
            granule = value(of[0]) - SHADOW
            assert 0 <= granule < SIZE // GRANULE
            values[to] = min(max(0, BUFFER + size - BASE - GRANULE * granule), GRANULE)
            values[to] *= granule >= (BUFFER - BASE) // GRANULE
        elif name == "selp":
            values[to] = value(of[0 if value(of[2]) else 1])
        elif name == "setp":
            one, other = value(of[0]), value(of[1])
            compare = operation.split(".")[1]
            holds = {"ne": one != other, "eq": one == other, "le": one <= other, "ge": one >= other}
            more = value(of[2]) if len(of) > 2 else ".or." not in operation
            values[to] = holds[compare] or more if ".or." in operation else holds[compare] and more
        elif operation == "or.pred":
            values[to] = value(of[0]) or value(of[1])
        else:
            raise AssertionError(step)
    (forced,) = re.findall(r"\[(%\w+)\]", last)
    return Carried(values[forced], bool(values["%gi_strayed"]), bool(values["%gi_beside"]))


@given(addresses, offsets, kinds)
def test_what_stays_in_the_window_is_left_and_all_else_is_forced_there(
    address: int, offset: int, kind: tuple[str, int]
) -> None:
    name, width = kind
    text = confined(f"ld.global.{name} \t%r1, [%rd7+{offset}];")
    wanted = (address + offset) % 2**64
    found, strayed, _ = carried_out(text, {"%rd7": address})
    assert BASE <= found <= BASE + SIZE - width
    assert found % width == 0
    harmless = BASE <= wanted < BASE + SIZE and wanted % width == 0
    assert strayed == (not harmless)
    assert not harmless or found == wanted


@given(addresses, kinds)
def test_a_variable_that_a_kernel_names_may_be_reached_and_no_byte_behind_it(
    address: int, kind: tuple[str, int]
) -> None:
    name, width = kind
    text = confined(f"ld.global.{name} \t%r1, [%rd7];", more="mov.u64 \t%rd8, table;")
    found, strayed, _ = carried_out(text, {"%rd7": address})
    begin = PLACES["table"]
    inside = begin <= address <= begin + 256 - width and address % width == 0
    window = BASE <= address < BASE + SIZE and address % width == 0
    assert strayed == (not (inside or window))
    assert begin <= found <= begin + 256 - width or BASE <= found <= BASE + SIZE - width


@given(st.integers(0, 2**32 - 1), offsets, st.sampled_from([("u8", 1), ("v4.u32", 16)]))
def test_shared_memory_ends_where_the_block_has_no_more(
    address: int, offset: int, kind: tuple[str, int]
) -> None:
    name, width = kind
    text = confined(f"st.shared.{name} \t[%r7+{offset}], %r1;")
    wanted = (address + offset) % 2**32
    found, strayed, _ = carried_out(text, {"%r7": address})
    assert found % width == 0
    assert found <= END - width
    harmless = wanted % width == 0 and wanted <= END - width
    assert strayed == (not harmless)
    assert not harmless or found == wanted


@given(addresses, st.sampled_from([("u8", 1), ("f64", 8)]))
def test_a_function_keeps_to_its_own_stack(address: int, kind: tuple[str, int]) -> None:
    name, width = kind
    text = confined(f"st.local.{name} \t[%rd7], %r1;")
    found, strayed, _ = carried_out(text, {"%rd7": address})
    begin = PLACES["__local_depot0"]
    assert begin <= found <= begin + STACK - width
    assert strayed == (found != address)


@pytest.mark.parametrize("space", [".global", ""])
@pytest.mark.parametrize("more", ["", "mov.u64 \t%rd8, table;"])
@given(st.integers(0, 200), st.integers(-300, 300), kinds)
def test_what_is_not_all_of_it_a_buffers_leaves_a_sign(
    space: str, more: str, size: int, offset: int, kind: tuple[str, int]
) -> None:
    name, width = kind
    text = confined(f"ld{space}.{name} \t%r1, [%rd7+{offset}];", more=more)
    found, strayed, beside = carried_out(text, {"%rd7": BUFFER}, size)
    assert strayed == (offset % width != 0)
    if not strayed:
        assert found == BUFFER + offset
        assert beside == (not 0 <= offset <= size - width)


@pytest.mark.parametrize("space", [".global", ""])
def test_what_lies_outside_the_window_is_not_looked_up(space: str) -> None:
    text = confined(f"ld{space}.u32 \t%r1, [%rd7];", more="mov.u64 \t%rd8, table;")
    found = carried_out(text, {"%rd7": PLACES["table"] + 252})
    assert found == (PLACES["table"] + 252, False, False)


@pytest.mark.parametrize("place", [BASE, BASE + SIZE - 4, CONTROL])
def test_all_of_the_window_but_buffers_is_nobodys(place: int) -> None:
    found = carried_out(confined("st.global.u32 \t[%rd7], %r1;"), {"%rd7": place}, 128)
    assert found == (place, False, True)


def test_what_is_not_carried_out_leaves_no_sign() -> None:
    text = confined("@!%p1 st.global.u32 \t[%rd7], %r1;")
    for passes in (False, True):
        registers = {"%rd7": BUFFER + 4, "!%p1": passes}
        assert carried_out(text, registers, 4).beside == passes


def test_the_rest_of_the_instruction_stays_and_its_guard_counts() -> None:
    text = confined("@!%p1 atom.global.cas.b32 \t%r5, [%rd3+8], %r6, %r7;")
    assert text.endswith("@!%p1 atom.global.cas.b32 \t%r5, [%gi_forced], %r6, %r7;")
    assert text.startswith("add.s64 %gi_address, %rd3, 8;")
    assert "setp.ne.and.u64 %gi_test, %gi_address, %gi_forced, !%p1;" in text


def test_of_a_copy_both_ends_are_forced() -> None:
    text = confined("cp.async.cg.shared.global \t[%r3+4], [%rd3], 16;")
    assert text.endswith("cp.async.cg.shared.global [%gi_word], [%gi_forced], 16;")
    assert text.count("setp.ne.or.u") == 2
    assert text.count("%gi_beside, %gi_lanes, %gi_word, %gi_beside;") == 1


def test_a_copy_that_may_read_less_is_not_looked_up() -> None:
    text = confined("cp.async.ca.shared.global \t[%r3], [%rd3], 16, %r4;")
    assert text.endswith("cp.async.ca.shared.global [%gi_word], [%gi_forced], 16, %r4;")
    assert "%gi_beside" not in text


def test_an_address_of_any_kind_is_asked_what_it_means() -> None:
    text = confined("ld.u32 \t%r1, [%rd1+12];")
    for space in ("const", "shared", "local"):
        assert f"isspacep.{space} " in text
    assert text.endswith("ld.u32 \t%r1, [%gi_forced];")


@pytest.mark.parametrize(
    "text",
    [
        "ld.param.u64 \t%rd1, [k_param_0];",
        "ld.global.u32 \t%r1, [table+8];",
        "st.shared.u32 \t[ticket], %r1;",
        "ld.const.u32 \t%r1, [%rd1];",
        "tex.1d.v4.u32.s32 \t{%r1, %r2, %r3, %r4}, [%rd1, {%r5}];",
        "@%p1 tex.1d.v4.f32.s32 \t{%f1, %f2, %f3, %f4}, [%rd1, {%r5}];",
        "add.s64 \t%rd1, %rd2, 8;",
        "bra.uni \t$L__BB0_2;",
        "cp.async.commit_group ;",
    ],
)
def test_what_cannot_go_wrong_stays(text: str) -> None:
    assert confined(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "bar.sync \t1, 64;",
        "barrier.cta.arrive \t1, 64;",
        "cp.async.bulk.wait_group.read \t[%rd1];",
        "call \t(retval0), %rd1, (param0), prototype_0;",
        "{ call.uni \t(retval0), malloc, (param0); }",
    ],
)
def test_what_cannot_be_confined_is_left_as_it_is(text: str) -> None:
    assert text in confine(KERNEL.format(instruction=text, more=""))


@pytest.mark.parametrize(
    "text",
    [
        "@%p3 shfl.sync.up.b32 \t%r1|%p5, %r2, %r3, %r4, MASK;",
        "vote.sync.ballot.b32 \t%r1, %p6, MASK;",
        "redux.sync.add.s32 \t%r1, %r2, MASK;",
        "match.any.sync.b32 \t%r1, %r2, MASK;",
        "bar.warp.sync \tMASK;",
    ],
)
@pytest.mark.parametrize("mask", ["-1", "%r30"])
def test_a_warp_waits_for_nobody(text: str, mask: str) -> None:
    guard = "@%p3 " if "@" in text else ""
    found = confined(text.replace("MASK", mask))
    assert found.startswith(f"{guard}activemask.b32 %gi_lanes;")
    assert found.endswith(f" {text.replace('MASK', '%gi_lanes')}")
    # Who it is for is looked at, and how many of them are there.
    assert f"and.b32 %gi_word, %gi_self, {mask};" in found
    for sign in ("unnamed", "alone"):
        assert f", %gi_{sign}" in found


def test_a_kernel_whose_warps_work_together_says_who_leaves() -> None:
    text = KERNEL.format(instruction="redux.sync.add.s32 %r1, %r2, -1;", more="@%p2 exit;")
    whole = confine(text)
    assert "@%p2 red.shared.or.b32 [%gi_slot+128], %gi_self; @%p2 exit;" in whole
    assert "red.shared.or.b32 [%gi_slot+128], %gi_self; ret;" in whole
    assert "gi_slot+128" not in confine(KERNEL.format(instruction="bar.sync 0;", more=""))


def test_threads_that_wait_at_a_barrier_say_at_which() -> None:
    text = confined("bar.sync \t0;", more="bar.red.popc.u32 \t%r1, 0, %p1;")
    assert text.startswith("st.volatile.shared.u32 [%gi_slot], 1; bar.warp.sync -1;")
    assert text.endswith("barrier.sync \t0;")
    whole = confine(KERNEL.format(instruction="bar.sync 0;", more="bar.red.or.pred %p1, 0, %p2;"))
    assert "barrier.red.or.pred %p1, 0, %p2;" in whole
    assert "[%gi_slot], 2;" in whole


def test_who_jumps_back_looks_at_the_clock() -> None:
    text = confined("@%p1 bra \t$L__BB0_1;")
    assert "%globaltimer" in text
    assert text.endswith("@%gi_test exit; @%p1 bra \t$L__BB0_1;")


@pytest.mark.parametrize("text", ["trap;", "@%p1 trap;", "{ call.uni __assertfail, (param0); }"])
def test_what_stops_the_device_ends_the_thread(text: str) -> None:
    found = confined(text)
    assert "trap" not in found
    assert "__assertfail" not in found
    assert "@%gi_test exit;" in found
    assert f"[%gi_control+{SIGNS['strayed'] - CONTROL}]" in found


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_no_access_through_a_register_and_no_loop_is_left(path: Path) -> None:
    text = confined_module(path.read_text(encoding="utf-8"))
    through = re.findall(r"\b(?:ld|st|atom|red)\.(?!param|const)\S*[^;\[]*\[%(?!gi_)[^;]*;", text)
    assert through == []
    for body in re.split(r"^\}", text, flags=re.M):
        labels = {found[1]: found.start() for found in re.finditer(r"^(\$\w+):", body, re.M)}
        for jump in re.finditer(r"(exit; )?(?:@!?%\w+ )?bra(?:\.uni)?\s+(\$\w+);", body):
            assert labels[jump[2]] > jump.start() or jump[1]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_an_assembler_takes_it(path: Path, tmp_path: Path) -> None:
    try:
        assembler = find_toolkit().nvcc.with_name("ptxas")
    except UserError as error:
        pytest.skip(error.what)
    text = path.read_text(encoding="utf-8")
    target = re.search(r"^\.target\s+(\w+)", text, re.M)
    assert target
    confined_text = tmp_path / "confined.ptx"
    confined_text.write_text(confined_module(text), encoding="utf-8")
    command = [assembler, f"-arch={target[1]}", "-O0", confined_text, "-o", tmp_path / "cubin"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "ld.global.u32 \t%r1, [%rd1];",
        "shfl.sync.up.b32 \t%r1|%p5, %r2, %r3, %r4, -1;",
        "sust.b.2d.b32.trap \t[%rd1, {%r1, %r2}], {%r3};",
        "match.any.sync.b32 \t%r1, %r2, -1;",
        "bra \t$L__BB0_1;",
        "exit;",
        "trap;",
    ],
)
def test_what_an_ordinary_instruction_stands_beside_is_looked_at(text: str) -> None:
    # Most lines are told by how they begin; shf and shfl begin alike.
    found = confined(text)
    assert found != text
    assert confined(f"add.s32 \t%r1, %r2, %r3; {text}") == f"add.s32 \t%r1, %r2, %r3; {found}"


def test_a_kernel_that_is_not_found_is_not_passed_over() -> None:
    text = KERNEL.format(instruction="ret;", more="").replace(
        "\n.visible .entry", " .visible .entry"
    )
    with pytest.raises(AssertionError):
        confine(text)
