"""Reciprocals: the text that they leave, and where they are not offered."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.arithmetic.recip import Recip
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, read_code
from gi_cuda.grammar.frontends.cuda.transforms.family import Rewrite
from gi_cuda.grammar.splice import spliced
from tests.unit.grammar.recip_divisions import DECLINED, HEAD, KERNELS

BEFORE = """\
#define SUM s + 1
__device__ void step(float *s) { *s += 1; }
__device__ void meet() { __syncthreads(); }
__device__ float twice(float x) { return x + x; }
"""


def made(code: Code) -> list[Rewrite]:
    """The rewrites at all sites of a source."""
    found = [Recip().rewrite(code, site.at, "recip_K") for site in Recip().sites(code)]
    return [one for one in found if one is not None]


@pytest.mark.parametrize("name", KERNELS)
def test_before_and_after(name: str) -> None:
    before, after = KERNELS[name]
    code = read_code(Source("k.cu", before))
    rewrite = made(code)[0]
    assert spliced(code.source, rewrite.splices).text == after
    assert rewrite.shape == {}


@pytest.mark.parametrize("name", DECLINED)
def test_where_it_is_not_offered(name: str) -> None:
    code = read_code(Source("k.cu", f"{BEFORE}{HEAD}    {DECLINED[name]}\n}}\n"))
    assert list(Recip().sites(code)) == []


def test_each_divisor_has_a_site_of_its_own_and_the_function_one_for_all() -> None:
    body = "for (int j = 0; j < n; j++) { a[j] = b[j] / s + b[j] / d + b[j] / 3; }"
    code = read_code(Source("k.cu", f"{HEAD}{body}\n}}\n"))
    texts = [spliced(code.source, one.splices).text for one in made(code)]
    assert [text.removeprefix(HEAD).removesuffix("\n}\n") for text in texts] == [
        "const float inv_s = 1.0f / s;\n" + body.replace("b[j] / s", "b[j] * inv_s"),
        "const double inv_d = 1.0 / d;\n" + body.replace("b[j] / d", "b[j] * inv_d"),
        body.replace("b[j] / 3", "b[j] * (1.0f / 3)"),
        "const double inv_d = 1.0 / d;\nconst float inv_s = 1.0f / s;\n"
        "for (int j = 0; j < n; j++) { a[j] = b[j] * inv_s + b[j] * inv_d + b[j] * (1.0f / 3); }",
    ]


def test_a_place_that_is_gone_is_not_rewritten() -> None:
    code = read_code(Source("k.cu", f"{HEAD}    a[0] = b[0] * s;\n}}\n"))
    assert Recip().rewrite(code, code.text.index("* s"), "recip_K") is None


def test_a_division_in_the_divisor_of_another_one_stays() -> None:
    body = "for (int j = 0; j < n; j++) a[j] = b[j] / (s / 3) + b[j] / d;"
    code = read_code(Source("k.cu", f"{HEAD}{body}\n}}\n"))
    text = spliced(code.source, made(code)[-1].splices).text
    assert text.removeprefix(HEAD).removesuffix("\n}\n") == (
        "const double inv_d = 1.0 / d;\nconst float inv_s = 1.0f / (s / 3);\n"
        "for (int j = 0; j < n; j++) a[j] = b[j] * inv_s + b[j] * inv_d;"
    )
