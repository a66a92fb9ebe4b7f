"""Counting instructions in a disassembler's listing."""

from __future__ import annotations

from gi_cuda.backends.cuda.compile.inspection import instructions

LISTING = """
\t.target\tsm_90
//--------------------- .nv.info --------------------------
\t.section\t.nv.info,"",@"SHT_CUDA_INFO"
\t.align\t4
//--------------------- .text._ZN2v11kEPf --------------------------
\t.section\t.text._ZN2v11kEPf,"ax",@progbits
.text._ZN2v11kEPf:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   IMAD.WIDE.U32 R4, R14, 0x4, R2 ;
        /*0020*/              @!P0 BRA `(.L_x_0) ;
.L_x_5:
        /*0030*/              @!UP0 LDG.E R4, desc[UR6][R4.64] ;
        /*0040*/                   FFMA R8, R7, -1.5707962512969970703, R10 ;
        /*0050*/                   NEWTHING R8 ;
        /*0060*/                   NOP;
//--------------------- .text._ZN2v21kEPf --------------------------
\t.section\t.text._ZN2v21kEPf,"ax",@progbits
        /*10000*/                   EXIT ;
"""


def test_instructions_are_counted_by_class_and_function() -> None:
    assert instructions(LISTING, lambda symbol: "v1" in symbol) == {
        "global memory": 1,
        "constant memory": 1,
        "control": 1,
        "floating point": 1,
        "integer": 1,
        "other": 1,
    }
    assert instructions(LISTING, lambda symbol: "v2" in symbol) == {"control": 1}
    assert instructions("", lambda _: True) == {}
