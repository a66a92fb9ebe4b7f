"""Kernels and their signatures."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gi_cuda.grammar.frontends.cuda.declarations.element_types import (
    Element,
    Member,
    read_element_types,
)
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, kernels

SOURCE = """
#define real double
typedef float value_t;
using Index = unsigned int;
enum Kind { A, B };
typedef struct { float x, y; int tag[3]; } Named;
struct Pair { value_t a; value_t b; };
struct Odd { Pair *next; };
namespace outer { namespace inner {
template <typename T, int N = 4, bool Flag = true>
__global__ void __launch_bounds__(256) k(const T *__restrict__ in, T *out, double const *c,
    unsigned long long int n, float (*rows)[4], std::size_t const size, volatile char v[], int *);
template <typename T, int N = 4, bool Flag = true>
__global__ void __launch_bounds__(256) k(const T *__restrict__ in, T *out, double const *c,
    unsigned long long int n, float (*rows)[4], std::size_t const size, volatile char v[], int *) {
}
} }
"""


def test_signatures(read: Callable[[str], CudaFile]) -> None:
    (kernel,) = kernels(read(SOURCE))
    assert kernel.name == kernel.shown == "outer::inner::k"
    assert [(t.name, t.type, t.default) for t in kernel.templates] == [
        ("T", None, None),
        ("N", "int", "4"),
        ("Flag", "bool", "true"),
    ]
    found = [(a.name, a.type, a.pointers, a.const) for a in kernel.arguments]
    assert found == [
        ("in", "T", 1, True),
        ("out", "T", 1, False),
        ("c", "double", 1, True),
        ("n", "unsigned long long int", 0, False),
        ("rows", "float", 1, False),
        ("size", "std::size_t", 0, True),
        ("v", "char", 1, False),
        ("", "int", 1, False),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int", Element("int32")),
        ("unsigned", Element("uint32")),
        ("long unsigned int", Element("uint64")),
        ("const unsigned char", Element("uint8")),
        ("signed char", Element("int8")),
        ("std::uint16_t", Element("uint16")),
        ("bool", Element("uint8", truth=True)),
        ("real", Element("float64")),
        ("value_t", Element("float32")),
        ("Index", Element("uint32")),
        ("enum Kind", Element("int32")),
        ("float4", Element("float32", 4)),
        ("uint2", Element("uint32", 2)),
        ("Pair", Element("float32", 2)),
        ("struct Pair", Element("float32", 2)),
        ("Odd", None),
        ("Unknown<int>", None),
        ("void", None),
    ],
)
def test_types(read: Callable[[str], CudaFile], text: str, expected: Element | None) -> None:
    assert read_element_types([read(SOURCE)]).element(text) == expected


def test_structs_have_the_layout_of_c(read: Callable[[str], CudaFile]) -> None:
    types = read_element_types([read("struct S { char a; double b; short c[3]; };")])
    element = types.element("S")
    assert element is not None
    assert element.bytes == 24
    assert element.fields == (
        Member("a", "int8", 1, at=0),
        Member("b", "float64", 1, at=8),
        Member("c", "int16", 3, at=16),
    )
