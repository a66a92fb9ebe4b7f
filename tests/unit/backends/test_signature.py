"""Kernels' parameters in PTX, and how those of two kernels differ."""

from __future__ import annotations

import pytest

from gi_cuda.backends.cuda.imports.signature import difference, in_ptx, spelled

NVCC = """
.visible .entry _Z1kPKiPiiscdf1P(
	.param .u64 _Z1kPKiPiiscdf1P_param_0,
	.param .u64 _Z1kPKiPiiscdf1P_param_1,
	.param .u32 _Z1kPKiPiiscdf1P_param_2,
	.param .u16 _Z1kPKiPiiscdf1P_param_3,
	.param .u8 _Z1kPKiPiiscdf1P_param_4,
	.param .f64 _Z1kPKiPiiscdf1P_param_5,
	.param .f32 _Z1kPKiPiiscdf1P_param_6,
	.param .align 8 .b8 _Z1kPKiPiiscdf1P_param_7[24]
)
{
	ret;
}
"""


def signature(parameters: str) -> tuple[str, object]:
    found = in_ptx(f".entry k({parameters}) {{ ret; }}")["k"]
    return spelled(found), found


def test_offsets_and_sizes_are_those_of_the_call() -> None:
    (found,) = in_ptx(NVCC).values()
    assert [(one.offset, one.size) for one in found] == [
        (0, 8),
        (8, 8),
        (16, 4),
        (20, 2),
        (22, 1),
        (24, 8),
        (32, 4),
        (40, 24),
    ]
    assert spelled(found) == "(.u64, .u64, .u32, .u16, .u8, .f64, .f32, .b8[24])"


def test_all_spellings_are_read() -> None:
    text = """
    // .entry no(.param .u32 x)
    .visible .entry none
    { ret; }
    .weak .entry empty ( ) { ret; }
    .entry all(.param .u64 .ptr .global .align 4 a, /* , */ .param .u64 .ptr .align 1 b,
        .param .align 4 .b32 c, .param .texref d) { ret; }
    """
    found = in_ptx(text)
    assert {name: spelled(one) for name, one in found.items()} == {
        "none": "()",
        "empty": "()",
        "all": "(.u64 .ptr, .u64 .ptr, .b32, .texref)",
    }


def test_what_is_no_parameter_is_told() -> None:
    with pytest.raises(ValueError, match="not a parameter: u32 x"):
        in_ptx(".entry k(u32 x) { ret; }")


@pytest.mark.parametrize(
    ("mine", "other"),
    [
        (".param .u64 a, .param .u32 b", ".param .u64 .ptr .global .align 4 x, .param .s32 y"),
        (".param .f32 a", ".param .b32 a"),
        (".param .align 8 .b8 a[8]", ".param .u64 a"),
        ("", ""),
    ],
)
def test_what_can_be_passed_as_the_other_is_no_difference(mine: str, other: str) -> None:
    for one, two in ((mine, other), (other, mine)):
        assert difference(signature(one)[1], signature(two)[1]) == ""  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mine", "other", "said"),
    [
        (
            ".param .u64 a, .param .u32 b",
            ".param .u64 a, .param .u64 b",
            "parameter 2 is .u64 (8 bytes) at offset 8,"
            " and the target's .u32 (4 bytes) at offset 8",
        ),
        (
            ".param .u32 a",
            ".param .f32 a",
            "parameter 1 is .f32 (4 bytes) at offset 0,"
            " and the target's .u32 (4 bytes) at offset 0",
        ),
        (".param .u64 .ptr a", ".param .f64 a", "parameter 1 is .f64 (8 bytes) at offset 0"),
        (
            ".param .u32 a, .param .align 8 .b8 b[16]",
            ".param .u32 a, .param .align 4 .b8 b[16]",
            "parameter 2 is .b8[16] (16 bytes) at offset 4,"
            " and the target's .b8[16] (16 bytes) at offset 8",
        ),
        (".param .u32 a", "", "it has 0 parameters, and the target's 1"),
    ],
)
def test_the_first_difference_is_told(mine: str, other: str, said: str) -> None:
    found = difference(signature(mine)[1], signature(other)[1])  # type: ignore[arg-type]
    assert found.startswith(said)
