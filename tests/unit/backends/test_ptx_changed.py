"""A PTX variant without the kernels that are the reference's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gi_cuda.backends.cuda.ptx.changed import changed
from gi_cuda.backends.protocol.variants import Phenotype

TEXT = """\
.version 8.8
.target sm_90
.address_size 64

.global .align 4 .u32 _ZN2v05countE;
.global .align 4 .b8 switch_$_table_$__ZN2v01aEv[8] = {1};
.func _ZN2v04helpEv
()
;
.visible .entry _ZN2v01aEv(
)
{
\tmov.u64 \t%rd1, switch_$_table_$__ZN2v01aEv;
$L__BB0_1:
\tret;
}
.func _ZN2v04helpEv()
{
\tadd.s32 \t%r1, %r1, 1;
$L__BB1_1:
\tret;
}
.visible .entry _ZN2v01bEv(
)
{
\tcall.uni _ZN2v04helpEv, ();
$L__BB2_1:
\tret;
}
.visible .entry _ZN2v01cEv(
)
{
\tmov.u64 \t%rd1, _ZN2v05countE;
\tret;
}
"""
REFERENCE = Phenotype(1, TEXT, (), b"reference")


def parts(text: str, kernels: tuple[str, ...] = ("a", "b", "c"), ident: int = 7) -> list[Phenotype]:
    one = replace(REFERENCE, ident=ident, text=text)
    return list(changed(one, REFERENCE, kernels))


def test_unchanged_kernels_are_lent_but_those_that_share_a_variable() -> None:
    (part,) = parts(TEXT.replace("add.s32", "sub.s32"))
    assert part.lent == {"a"}
    assert "_ZN2v01bEv" in part.text
    assert "sub.s32" in part.text
    assert ".entry _ZN2v01cEv" in part.text
    assert ".entry _ZN2v01aEv" not in part.text
    assert part.text.startswith(".version 8.8\n")


def test_a_kernel_is_the_same_under_another_number_and_a_part_in_every_variant() -> None:
    (part,) = parts(TEXT.replace("$L__BB2_", "$L__BB5_").replace("b8 switch", "b16 switch"))
    assert part.lent == {"b"}
    (again,) = parts(TEXT.replace("b8 switch", "b16 switch"), ident=9)
    assert again.key == part.key


@pytest.mark.parametrize(
    ("text", "kernels"),
    [
        (TEXT, ("a",)),  # there is one kernel
        (TEXT, ("a", "b")),  # the module has another one
        (TEXT, ("a", "b<3>", "c")),  # a name does not say which symbol is meant
        (TEXT.replace(" \t%rd1", " \t%rd2").replace("add.s32", "sub.s32"), ("a", "b", "c")),
    ],
)
def test_a_variant_is_whole_where_nothing_can_be_lent(text: str, kernels: tuple[str, ...]) -> None:
    assert not parts(text, kernels)
