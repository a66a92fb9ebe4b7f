"""Powers that are written out: the text that they leave, and where they are not offered."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.arithmetic.power import Power
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, read_code
from gi_cuda.grammar.splice import spliced

CASES = {
    "a square": ("b = powf(a, 2.0f);", "b = a * a;"),
    "an overload for a float": ("b = pow(a, 2);", "b = a * a;"),
    "double precision": ("d = pow(d, 2.0);", "d = d * d;"),
    "one of std": ("b = std::pow(a, 2.f);", "b = a * a;"),
    "a cube in a product": ("b = c / powf(a, 3.0f);", "b = c / (a * a * a);"),
    "the fourth power of a difference": (
        "b = pow(a - c, 4);",
        "b = ((a - c) * (a - c)) * ((a - c) * (a - c));",
    ),
    "elements": (
        "p[n] = powf(p[n + 1], 2) + powf(p[n], 2);",
        "p[n] = p[n + 1] * p[n + 1] + p[n] * p[n];",
    ),
    "a function": ("b = pow(sinf(a), 2);", "b = sinf(a) * sinf(a);"),
    "an argument": ("b = expf(-powf(a, 2));", "b = expf(-(a * a));"),
    "roots": (
        "b = powf((a + c), 0.5f); d = 2 * pow(d, 0.25); c = powf(c, -0.5f);",
        "b = sqrtf(a + c); d = 2 * sqrt(sqrt(d)); c = rsqrtf(c);",
    ),
    "a power with a root": ("d = 1 + pow(d, 1.5);", "d = 1 + d * sqrt(d);"),
    "reciprocals": (
        "b = powf(a, -1); d = c * pow(d, -2.0);",
        "b = 1.0f / a; d = c * (1.0 / (d * d));",
    ),
    "a macro for the exponent": ("b = powf(a, ORDER);", "b = a * a * a;"),
    "the base of a power": (
        "b = powf(c * powf(a, 2.5f), 2.0f);",
        "b = (c * powf(a, 2.5f)) * (c * powf(a, 2.5f));",
    ),
    "a reciprocal of a root": ("b = 1.0f / sqrtf(a * a + c);", "b = rsqrtf(a * a + c);"),
    "a division by a root": ("b = c / a / sqrt(a + c);", "b = c / a * rsqrtf(a + c);"),
    "a division by a power": ("b += c / powf(a, c) + 1;", "b += c * powf(a, -c) + 1;"),
    "divisions by exponential functions": (
        "d = 1 / exp(-d); b /= expf(a + c);",
        "d = exp(d); b *= expf(-(a + c));",
    ),
    "a reciprocal in a divisor": ("b = c / (1 / cbrtf(a));", "b = c / (rcbrtf(a));"),
    "on two lines": ("b = powf(a +\n        c, 2.0f);", "b = (a + c) * (a + c);"),
}
DECLINED = {
    "another exponent": "b = powf(a, 2.5f) + powf(a, 20);",
    "an exponent that is not known": "b = powf(a, c);",
    "an integer": "d = pow(n, 2);",
    "a double number in single precision": "b = powf(d, 2.0f);",
    "a base that changes something": "b = powf(p[n++], 2.0f);",
    "a base from another function": "b = powf(next(p), 2.0f);",
    "a base of unknown type": "b = powf(UNKNOWN, 2.0f);",
    "a division by a root in another type": "d = 1.0 / sqrtf(a); d = d / expf(a);",
    "a division by another function": "b = c / sinf(a) + c / (1 + expf(a));",
    "a comment": "b = powf(a + // and\n        c, 2.0f);",
    "a macro without parentheses": "b = powf(SUM, 2.0f);",
}


def read(body: str) -> Code:
    """A kernel with a body that computes ``b`` of ``a`` and ``c``."""
    head = (
        "#define ORDER 3.0f\n#define SUM a + c\n__device__ float next(float *p) { return *p++; }\n"
    )
    parameters = "float *p, float a, float b, float c, double d, int n"
    return read_code(Source("k.cu", f"{head}__global__ void k({parameters}) {{\n    {body}\n}}\n"))


@pytest.mark.parametrize("name", CASES)
def test_before_and_after(name: str) -> None:
    before, after = CASES[name]
    code = read(before)
    (site,) = Power().sites(code)
    assert code.text[site.at :].startswith("k(float *p")
    rewrite = Power().rewrite(code, site.at, "power_K")
    assert rewrite is not None
    assert rewrite.shape == {}
    assert spliced(code.source, rewrite.splices).text == read(after).text


@pytest.mark.parametrize("name", DECLINED)
def test_where_it_is_not_offered(name: str) -> None:
    assert list(Power().sites(read(DECLINED[name]))) == []


def test_a_function_without_powers_is_not_rewritten() -> None:
    code = read("b = a + c;")
    assert Power().rewrite(code, code.functions[-1].at, "power_K") is None
