"""Headers of the host back end that are included before variants."""

from __future__ import annotations

import pytest

from gi_cuda.backends.host.build.preamble import preamble, preamble_with

PLAIN = "void k(float *p)\n{\n  p[0] = 1;\n}\n"


@pytest.mark.parametrize(
    ("line", "header"),
    [
        ("x = sincos(y, &s, &c);", "gi_special.hpp"),
        ("x = erfcinv\n  (y);", "gi_special.hpp"),
        ('asm("mov.u32 %0, 1;" : "=r"(x));', "gi_ptx.hpp"),
        ('"mma.sync.aligned.m16n8k8"', "gi_ptx_matrices.hpp"),
        ("x = __fadd_rn(x, y);", "gi_rounding.hpp"),
        ("std::swap(x, y);", "gi_standard.hpp"),
        ("x = tex2D<float>(t, 0, 0);", "gi_textures.hpp"),
        ("x = __vadd4(x, y);", "gi_simd.hpp"),
    ],
)
def test_what_takes_long_to_read_is_included_for_those_that_say_so(line: str, header: str) -> None:
    include = f'#include "{header}"\n'
    said = PLAIN.replace("p[0] = 1;", line)
    assert include not in preamble_with("", [PLAIN])
    assert include in preamble_with("", [PLAIN, said])
    assert include in preamble_with(said, [PLAIN])


def test_what_only_looks_like_it_asks_for_nothing() -> None:
    names = "int normf = 1, erfc = normf + powiness(2); int mma = 0, rnorm = mma;\n"
    assert preamble_with("", [names]) == preamble_with("", [PLAIN])


def test_headers_of_their_own_may_use_everything() -> None:
    of_c, own = (preamble(f'#include "{name}"\n', [PLAIN]) for name in ("math.h", "mine.cuh"))
    assert "gi_special.hpp" not in of_c
    assert "gi_special.hpp" in own
