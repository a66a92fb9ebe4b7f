"""Accesses to memory that stay in their window, told by doing what the instructions say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.ptx.confine import confine
from gi_cuda.grammar.frontends.ptx.grammar import convert_ptx
from gi_cuda.grammar.frontends.ptx.render import rehearse_ptx

WINDOW = BASE, SIZE = 1 << 44, 1 << 35
NARROW = frozenset({"%r7"})
SHARED = 4096
SAMPLES = sorted((Path(__file__).parents[2] / "sources" / "ptx").glob("*.ptx"))
THROUGH_REGISTER = re.compile(
    r"^\s*(?:@\S+\s+)?(?:ld|st|atom|red)\.\S*global\S*[^;]*\[%[^;]*;", re.M
)

addresses = st.one_of(
    st.integers(0, 2**64 - 1), st.integers(BASE, BASE + SIZE - 1), st.integers(0, 2 * SHARED)
)
offsets = st.integers(-(2**12), 2**12)


def reached(text: str, registers: dict[str, int], bits: int) -> int:
    """Where the confined access goes: what its block does with addresses, done here."""
    values = {"%total_smem_size": SHARED, **registers}

    def value(operand: str) -> int:
        return values[operand] if operand in values else int(operand)

    for operation, result, operands in re.findall(
        r"(add|and|or|min|mov)\.\w+ (%\w+), ([^;]*);", text
    ):
        one, *more = [value(word) for word in operands.split(", ")]
        other = more[0] if more else 0
        done = {
            "add": one + other,
            "and": one & other,
            "or": one | other,
            "min": min(one, other),
            "mov": one,
        }[operation]
        values[result] = done % 2**bits
    (last,) = re.findall(r"\[(%\w+)\]", text)
    return values[last]


@given(addresses, offsets, st.sampled_from([("u8", 1), ("v2.f32", 8), ("v4.u32", 16), ("f64", 8)]))
def test_what_stays_in_the_window_is_left_and_all_else_comes_there(
    address: int, offset: int, kind: tuple[str, int]
) -> None:
    name, width = kind
    text = confine(f"ld.global.{name} \t%r1, [%rd7+{offset}];", NARROW, WINDOW)
    wanted = (address + offset) % 2**64
    found = reached(text, {"%rd7": address}, 64)
    assert BASE <= found <= BASE + SIZE - width
    assert found % width == 0
    if BASE <= wanted < BASE + SIZE and wanted % width == 0:
        assert found == wanted


@given(st.integers(0, 2**32 - 1), offsets)
def test_shared_memory_ends_where_the_block_has_no_more(address: int, offset: int) -> None:
    text = confine(f"st.shared.u32 \t[%r7+{offset}], %r1;", NARROW, WINDOW)
    wanted = (address + offset) % 2**32
    found = reached(text, {"%r7": address}, 32)
    assert found % 4 == 0
    assert found <= SHARED + 1024 - 4
    if wanted % 4 == 0 and wanted <= SHARED + 1024 - 4:
        assert found == wanted


def test_the_rest_of_the_instruction_stays() -> None:
    text = confine("@%p1 atom.global.cas.b32 \t%r5, [%rd3+8], %r6, %r7;", NARROW, WINDOW)
    assert text.endswith("@%p1 atom.global.cas.b32 \t%r5, [%gi_address], %r6, %r7; }")
    assert "add.s64 %gi_address, %rd3, 8;" in text
    assert "\n" not in text


@pytest.mark.parametrize(
    "text",
    [
        "ld.param.u64 \t%rd1, [k_param_0];",
        "ld.global.u32 \t%r1, [table+8];",
        "st.shared.u32 \t[ticket], %r1;",
        "ld.u32 \t%r1, [%rd1];",
        "st.local.v2.f64 \t[%rd1+16], {%fd3, %fd3};",
        "ld.const.u32 \t%r1, [%rd1];",
        "tex.1d.v4.u32.s32 \t{%r1, %r2, %r3, %r4}, [%rd1, {%r5}];",
        "@%p1 tex.1d.v4.f32.s32 \t{%f1, %f2, %f3, %f4}, [%rd1, {%r5}];",
        "add.s64 \t%rd1, %rd2, 8;",
        "bar.sync \t0;",
    ],
)
def test_what_cannot_go_wrong_or_is_not_understood_stays(text: str) -> None:
    assert confine(text, NARROW, WINDOW) == text


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
    confined = confine(text.replace("MASK", mask), NARROW, WINDOW)
    assert text.replace("MASK", "%gi_active") in confined
    guard = "@%p3 " if "@" in text else ""
    assert f" {guard}activemask.b32 %gi_active; {guard}" in confined


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_no_access_to_global_memory_through_a_register_is_left(path: Path) -> None:
    grammar = convert_ptx(Source(path.name, path.read_text(encoding="utf-8")))
    text = rehearse_ptx(grammar, {}, {}, WINDOW)
    assert THROUGH_REGISTER.search(text) is None
    assert "[%gi_address]" in text
