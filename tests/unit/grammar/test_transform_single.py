"""Double precision that ends in a ``float``: the text that is left, and where it stays."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.arithmetic.single import Single
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, read_code
from gi_cuda.grammar.splice import spliced

CASES = {
    "a product": ("b = 0.5 * a;", "b = 0.5f * a;"),
    "forms of literals": (
        "b = a * 1. + .25 + 1e-3 - 2.5E+1;",
        "b = a * 1.f + .25f + 1e-3f - 2.5E+1f;",
    ),
    "an integer beside": ("b = a * 2 + 1.0 / n;", "b = a * 2 + 1.0f / n;"),
    "a function": ("b = sin(2.0 * a);", "b = sinf(2.0f * a);"),
    "a function of std": ("b = 2.0 * std::exp(a);", "b = 2.0f * std::exp(a);"),
    "a power": ("b = pow(a, 2.5) + 1.0;", "b = powf(a, 2.5f) + 1.0f;"),
    "a root of an integer": ("b = sqrt(2.0 * n);", "b = sqrtf(2.0f * n);"),
    "elements": ("p[n] = p[n + 1] * 0.25;", "p[n] = p[n + 1] * 0.25f;"),
    "an update": ("p[n] += 0.1 * (a - b);", "p[n] += 0.1f * (a - b);"),
    "a declaration": ("const float e = -(a + 0.5);", "const float e = -(a + 0.5f);"),
    "a comparison": ("if (a > 0.5) b = 1.0;", "if (a > 0.5f) b = 1.0f;"),
    "the other side": ("if (1e-6 < a) b = a;", "if (1e-6f < a) b = a;"),
    "a choice": ("b = n > 2 ? 0.5 * a : 1.5;", "b = n > 2 ? 0.5f * a : 1.5f;"),
    "constants of headers": ("b = 2.0 * M_PI * a;", "b = 2.0f * (float)M_PI * a;"),
    "a macro": ("b = a * STEP;", "b = a * (float)STEP;"),
    "some of several": ("b = 0.5 * a; d = 0.5 * a;", "b = 0.5f * a; d = 0.5 * a;"),
}
DECLINED = {
    "single precision": "b = 0.5f * a;",
    "a double result": "d = 0.5 * a;",
    "a double number": "b = 0.5 * d;",
    "a double number in a call": "b = sin(0.5 * d);",
    "an unknown number": "b = 0.5 * UNKNOWN;",
    "another function": "b = 0.5 * other(a);",
    "a double declaration": "double e = a * 0.5; b = e;",
    "an argument": "other(0.5 * a);",
    "an integer result": "n = 0.5 * a;",
    "a comparison of doubles": "if (d > 0.5) b = a;",
    "a long double": "b = 0.5L * a;",
    "an index": "b = p[(int)(0.5 * n)];",
    "a cast to double": "b = (double)a * a;",
}


def read(body: str) -> Code:
    """A kernel with a body that computes ``b`` of ``a``."""
    head = "#define STEP 0.01\n__device__ double other(double x) { return x; }\n"
    parameters = "float *p, float a, float b, double d, int n"
    return read_code(Source("k.cu", f"{head}__global__ void k({parameters}) {{\n    {body}\n}}\n"))


@pytest.mark.parametrize("name", CASES)
def test_before_and_after(name: str) -> None:
    before, after = CASES[name]
    code = read(before)
    (site,) = Single().sites(code)
    assert code.text[site.at :].startswith("k(float *p")
    rewrite = Single().rewrite(code, site.at, "single_K")
    assert rewrite is not None
    assert rewrite.shape == {}
    assert spliced(code.source, rewrite.splices).text == read(after).text


@pytest.mark.parametrize("name", DECLINED)
def test_where_it_is_not_offered(name: str) -> None:
    assert list(Single().sites(read(DECLINED[name]))) == []


def test_what_a_function_of_floats_returns() -> None:
    text = "__device__ float half(float x) { return 0.5 * x; }\n"
    code = read_code(
        Source("k.cu", f"{text}__global__ void k(float *a) {{ a[0] = half(a[1]); }}\n")
    )
    (site,) = Single().sites(code)
    rewrite = Single().rewrite(code, site.at, "single_K")
    assert rewrite is not None
    assert "return 0.5f * x;" in spliced(code.source, rewrite.splices).text
