"""Functions that may be compiled once for several variants."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.backends.host.build.common import MARK, mark_common

TWICE = "__global__ void k(int *o) { o[0] = f(1) + f(2); }"


def marked(text: str) -> set[str]:
    """The functions whose declarations are all marked."""
    found = mark_common(text)
    assert found.replace(MARK, "__device__") == text
    names = re.findall(rf"{MARK}\b[\w\s*&:]*?(\w+)\s*\(", found)
    assert not {name for name in names if re.search(rf"__device__[\w\s*&:]*?\b{name}\s*\(", found)}
    return set(names)


@pytest.mark.parametrize(
    "function",
    [
        "__device__ int f(int x) { return x; }",
        "static __device__ int f(int x)\n{\n  return x;\n}",
        "__device__ static inline int f(int x) { return x; }",
        "inline int __device__ f(int x) { return x; }",
        "__host__ __device__ int f(int x) { return x; }",
        '# 3 "k.cu"\nstatic __device__ int f(int x) { if (x) { return 1; } return x; }',
        "__device__ int f(int);\n__device__ int f(int x) { return x; }",
        "__device__ const int *g(int) { return 0; } __device__ int f(int x) { return '}' - x; }",
        '__device__ int f(int x) { const char *s = "}"; return s[x]; }',
        "struct S { __device__ int f(int x) const noexcept { return x; } };",
    ],
)
def test_what_is_called_from_several_places_is_common(function: str) -> None:
    assert marked(f"{function}\n{TWICE}") == {"f"}


@pytest.mark.parametrize(
    "function",
    [
        "template <class T> __device__ T f(T x) { return x; }",
        "__device__ int f(int x) { return x; } __device__ int f(float x) { return x; }",
        "__device__ int f(int x);",
        "__device__ int f = 3;",
        "auto f = [] __device__ (int x) { return x; };",
        "int f(int x) { return x; }",
        "__device__ std::pair<int, int> f(int x) { return {x, x}; }",
    ],
)
def test_what_is_hard_to_tell_is_left_alone(function: str) -> None:
    assert marked(f"{function}\n{TWICE}") == set()


def test_what_one_place_calls_is_not_common() -> None:
    """It is inlined there, which it would not be with many callers."""
    assert marked("__device__ int f(int x) { return x; } __global__ void k() { f(1); }") == set()


def test_calls_from_what_no_kernel_reaches_do_not_count() -> None:
    text = """
    __device__ int f(int x) { return x; }
    __device__ int g(int x) { return f(x) + f(x + 1) + h(x); }
    __device__ int h(int x) { return g(x); }
    __global__ void k(int *o) { o[0] = f(1); }"""
    assert marked(text) == set()
    assert marked(text.replace("f(1);", "g(1);")) == {"f", "g"}


def test_calls_from_what_is_reached_by_others_count() -> None:
    text = """
    __device__ int f(int x) { return x; }
    __device__ int g(int x) { return f(x); }
    __global__ void k(int *o) { o[0] = f(1) + g(2); }"""
    assert marked(text) == {"f"}


PIECES = ["__device__ int f(", "f(1)", "__global__", *"{}()[];'\"\\/*#\n k=,"]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_any_text_keeps_all_but_the_word(text: str) -> None:
    assert mark_common(text).replace(MARK, "__device__") == text
