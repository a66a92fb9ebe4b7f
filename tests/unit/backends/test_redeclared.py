"""Declarations in headers of functions that the source defines move from headers to variants."""

from __future__ import annotations

import pytest

from gi_cuda.backends.compile.pruning.redeclared import defined_functions, separated

HEADERS = """\
# 1 "complex.h" 1
struct Complex { float re, im; };
__attribute__((device)) Complex
# 3 "complex.h"
  times(Complex a, Complex b); int other(int);
extern "C" __attribute__((device)) float norm(Complex a, float least = 0);
inline float twice(Complex a) { return 2 * helper(a); }
float helper(Complex a);
float whole(Complex a) { return a.re; }
namespace lib { Complex times(Complex, Complex); }
"""


def test_what_the_source_defines_is_declared_in_its_variants() -> None:
    left, forward = separated(HEADERS, frozenset({"times", "norm"}))
    assert " ".join(forward.split()).replace(" ", "") == (
        "__attribute__((device))Complextimes(Complexa,Complexb);"
        "__attribute__((device))floatnorm(Complexa,floatleast=0);"
    )
    assert "int other(int);" in left
    assert "norm" not in left
    assert left.count("times") == 1
    assert '# 3 "complex.h"' in left


@pytest.mark.parametrize("name", ["helper", "whole", "Complex", "absent"])
def test_what_headers_call_define_or_have_none_of_stays(name: str) -> None:
    assert separated(HEADERS, frozenset({name})) == (HEADERS, "")


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("__device__ int f(int x) { return x; }", {"f"}),
        ("#define N 3\ntemplate <class T>\n__device__ T f(T x)\n{ return x; }", {"f"}),
        ("__global__ void k(int *x) { } int main() { k<<<1, 2>>>(0); }", {"k", "main"}),
        ("namespace a { int f() { return 1; } } int g(); int table[] = { 1 };", set()),
        ("struct S { int f() { return 1; } }; int S::g() { return 2; }", set()),
        ("int f() { ", set()),
    ],
)
def test_functions_that_a_source_defines(source: str, names: set[str]) -> None:
    assert defined_functions(source) == names
