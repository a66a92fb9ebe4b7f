"""Names of a batch and names of a source on its own, paired without knowledge of mangling."""

from __future__ import annotations

import pytest

from gi_cuda.backends.cuda.ptx.names import SymbolNames, pair, without_lines

BATCH = """\
.version 8.0
.global .align 4 .b8 _ZN2v06filter4tapsE[20];
.global .align 4 .u32 _ZN38_INTERNAL_00000000_8_shard_cu_000000002v04lastE;
.visible .entry _ZN2v01kEPNS_4CellES1_(
\t.param .u64 _ZN2v01kEPNS_4CellES1__param_0
)
{
\t.loc\t1 2 3
\tld.param.u64 \t%rd1, [_ZN2v01kEPNS_4CellES1__param_0];
\tmov.u64 %rd2, _ZN38_INTERNAL_00000000_8_shard_cu_000000002v04lastE; // v0
\tret;
}
\t.file\t1 "v0/kernel.cu"
\t.section\t.debug_str
\t{
$L__info_string0:
.b8 95,90,0

\t}
"""
ALONE = """\
.version 8.0
.global .align 4 .u32 last;
.visible .global .align 4 .b8 _ZN6filter4tapsE[20];
.visible .entry _Z1kP4CellS0_(
\t.param .u64 _Z1kP4CellS0__param_0
)
{
\tld.param.u64 \t%rd1, [_Z1kP4CellS0__param_0];
\tmov.u64 %rd2, last;
\tret;
}
"""


def test_names_are_paired_word_for_word_and_unused_variables_by_their_name() -> None:
    names = pair(BATCH, ALONE)
    assert names is not None
    assert dict(names.alone) == {
        "_ZN2v01kEPNS_4CellES1_": "_Z1kP4CellS0_",
        "_ZN2v01kEPNS_4CellES1__param_0": "_Z1kP4CellS0__param_0",
        "_ZN38_INTERNAL_00000000_8_shard_cu_000000002v04lastE": "last",
        "_ZN2v06filter4tapsE": "_ZN6filter4tapsE",
    }
    text = without_lines(BATCH)
    out = names.outward(text)
    assert "_ZN2v0" not in out
    assert ".b8 _ZN6filter4tapsE[20];" in out
    assert names.inward(out) == text


@pytest.mark.parametrize(
    "other",
    [
        ALONE.replace("ret;", "bar.sync 0;\n\tret;"),
        ALONE.replace("mov.u64 %rd2, last", "mov.u64 %rd2, _Z1kP4CellS0_"),  # two names for one
        ALONE.replace("[_Z1kP4CellS0__param_0]", "[last]"),  # one name for two
        ALONE.replace("_ZN6filter4tapsE", "_ZN6filter4spotE"),  # no such variable
    ],
)
def test_other_code_is_not_paired(other: str) -> None:
    assert pair(BATCH, other) is None


def test_line_information_goes_and_nothing_else() -> None:
    left = without_lines(BATCH)
    assert left == BATCH.partition("\t.file")[0].replace("\t.loc\t1 2 3\n", "")
    assert without_lines(left) == left
    assert SymbolNames({}).outward(left) == left
