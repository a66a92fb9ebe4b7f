"""Fast intrinsics: the text that they leave, and where they are not offered."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.arithmetic.fast import Fast
from gi_cuda.grammar.frontends.cuda.transforms.code import Code, read_code
from gi_cuda.grammar.splice import spliced

CASES = {
    "a call": ("b = expf(a);", ["b = __expf(a);"]),
    "all calls of a function together": (
        "b = expf(a); c = 1 + expf(-a);",
        ["b = __expf(a); c = 1 + __expf(-a);"],
    ),
    "two functions, one after the other": (
        "b = sinf(a) * cosf(a);",
        ["b = __sinf(a) * cosf(a);", "b = sinf(a) * __cosf(a);"],
    ),
    "an overload for a float": ("b = exp(a);", ["b = __expf(a);"]),
    "one of std": ("b = std::log(a);", ["b = __logf(a);"]),
    "a power": ("b = powf(a, 1.5f);", ["b = __powf(a, 1.5f);"]),
    "a power of an overload": ("b = pow(a, c);", ["b = __powf(a, c);"]),
    "sine and cosine": ("sincosf(a, &b, &c);", ["__sincosf(a, &b, &c);"]),
    "a division": ("b = a / c;", ["b = __fdividef(a, c);"]),
    "a reciprocal": ("b = 1.0f / a;", ["b = __fdividef(1.0f, a);"]),
    "a division of sums": ("b = (a + 1) / (c - a);", ["b = __fdividef((a + 1), (c - a));"]),
    "divisions in turn": ("b = a / c / a;", ["b = __fdividef(__fdividef(a, c), a);"]),
    "a division on two lines": ("b = a\n        / c;", ["b = __fdividef(a, c);"]),
    "a call and a division": (
        "b = expf(a) / c;",
        ["b = __expf(a) / c;", "b = __fdividef(expf(a), c);"],
    ),
    "an assignment that divides": ("b = c; b /= expf(a);", ["b = c; b /= __expf(a);"]),
}

DECLINED = {
    "a constant that the compiler computes": "constexpr int n = 3; constexpr float d(2.0f / n);",
    "double": "double d = a; d = exp(d) / d;",
    "a double argument": "b = exp(2.0 * a);",
    "integers": "n = n / 3;",
    "a number": "b = 1.0f / 3.0f;",
    "functions without an intrinsic": "b = sqrtf(a) + fabsf(c) + tanhf(a);",
    "a function of the source's own": "b = twice(a);",
    "what a macro hides": "b = HALF(a);",
}


def read(body: str) -> Code:
    """A kernel with a body that computes ``b`` of ``a`` and ``c``."""
    head = "#define HALF(x) ((x) / 2.0f)\n__device__ float twice(float x) { return x + x; }\n"
    return read_code(
        Source(
            "k.cu",
            f"{head}__global__ void k(float a, float b, float c, int n) {{\n    {body}\n}}\n",
        )
    )


@pytest.mark.parametrize("name", CASES)
def test_before_and_after(name: str) -> None:
    before, after = CASES[name]
    code = read(before)
    sites = sorted(Fast().sites(code), key=lambda site: site.at)
    made = [Fast().rewrite(code, site.at, "fast_K") for site in sites]
    texts = [spliced(code.source, one.splices).text for one in made if one]
    assert texts == [read(one).text for one in after]


@pytest.mark.parametrize("name", DECLINED)
def test_where_it_is_not_offered(name: str) -> None:
    assert list(Fast().sites(read(DECLINED[name]))) == []


def test_launches_stay_and_device_functions_are_rewritten_too() -> None:
    text = "__device__ float f(float x) { return expf(x); }\n"
    text += "__global__ void k(float *a) { *a = f(*a); }"
    code = read_code(Source("k.cu", text))
    (site,) = Fast().sites(code)
    rewrite = Fast().rewrite(code, site.at, "fast_K")
    assert rewrite is not None
    assert rewrite.shape == {}
    assert "return __expf(x);" in spliced(code.source, rewrite.splices).text


@pytest.mark.parametrize("head", ["__host__ __device__", "HD", "constexpr"])
def test_functions_that_a_host_runs_too_have_no_intrinsics(head: str) -> None:
    text = "#define HD __host__ __device__ inline\n"
    text += f"{head} float f(float x) {{ return expf(x); }}\n"
    text += "__global__ void k(float *a) { *a = f(*a); }"
    assert list(Fast().sites(read_code(Source("k.cu", text)))) == []


def test_a_place_that_is_gone_is_not_rewritten() -> None:
    code = read("b = a + c;")
    assert Fast().rewrite(code, code.text.index("a + c"), "fast_K") is None
