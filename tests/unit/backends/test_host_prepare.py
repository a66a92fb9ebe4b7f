"""Rewriting of device code for the host; all other text stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.backends.host.build.prepare import mark_unrolls, prepare, variant_text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#pragma unroll\nfor (;;) ;", '_Pragma("GCC unroll 16")\nfor (;;) ;'),
        ("  #  pragma unroll 4\n\n  while (x) ;", '_Pragma("GCC unroll 4")\n\n  while (x) ;'),
        ("#pragma unroll (0x8u) // why\ndo {", '_Pragma("GCC unroll 8")\ndo {'),
        ("#pragma unroll 100000\nfor (;;) ;", '_Pragma("GCC unroll 65534")\nfor (;;) ;'),
        (
            '#pragma unroll\n# 7 "k.cu"\nfor (;;) ;',
            '_Pragma("GCC unroll 16")\n# 7 "k.cu"\nfor (;;) ;',
        ),
        ("#pragma unroll N\nfor (;;) ;", "\nfor (;;) ;"),
        ("#pragma unroll\nx = 1;", "\nx = 1;"),
        ("#pragma unroll 2\nforest();", "\nforest();"),
        ("#pragma unroll", ""),
        ("void __launch_bounds__(N * (2 + 1),\n4) k();", "void \n k();"),
        (
            "void __launch_bounds__(N,\n4) k(A<1>,\nint) {\nx;",
            "void \n k(A<1>,\nint) { GI_LAUNCH_BOUNDS(N)\nx;",
        ),
        (
            'void __launch_bounds__(N\n# 7 "k.cu"\n* 2) k() {',
            "void \n\n k() { GI_LAUNCH_BOUNDS(N * 2)",
        ),
        (
            "void __launch_bounds__(f({1, 2}), 3) k(B b = {}) {",
            "void  k(B b = {}) { GI_LAUNCH_BOUNDS(f({1, 2}))",
        ),
        (
            "void __launch_bounds__(C<1, 2>::v, 3) k() {",
            "void  k() { GI_LAUNCH_BOUNDS(C<1, 2>::v, 3)",
        ),
        (
            "__launch_bounds__(1) void __launch_bounds__(2) k() {",
            " void  k() { GI_LAUNCH_BOUNDS(2)",
        ),
        ("my__launch_bounds__(4)", "my__launch_bounds__(4)"),
        ('"__launch_bounds__(4)"', '"__launch_bounds__(4)"'),
        ("gi_unroll( 5 )\nfor (;;) ;", '_Pragma("GCC unroll 5")\nfor (;;) ;'),
        ("gi_unroll((5))\nfor (;;) ;", '_Pragma("GCC unroll 5")\nfor (;;) ;'),
        ("gi_unroll()\nfor (;;) ;", '_Pragma("GCC unroll 16")\nfor (;;) ;'),
        ("gi_unroll(2)\nx = 1;", "\nx = 1;"),
        ("#pragma unrolled\nfor (;;) ;", "#pragma unrolled\nfor (;;) ;"),
        ('extern "C" void f();', "void f();"),
        ('extern "C" { int x; }', "inline namespace gi_c { int x; }"),
        ("static __shared__ int s[4];", "__shared__ int s[4];"),
        ("__shared__ static int s[4];", "__shared__  int s[4];"),
        ("__shared__ int s[4];", "__shared__ int s[4];"),
        ("extern int there;", "extern int there;"),
        ('printf("extern __shared__ int s[];");', 'printf("extern __shared__ int s[];");'),
        ("// extern __shared__ int s[];", "// extern __shared__ int s[];"),
        ('R"x(asm("a"))x"; extern int i;', 'R"x(asm("a"))x"; extern int i;'),
        ('asm volatile("" ::: "memory");', 'asm volatile("" ::: "memory");'),
        (
            'asm volatile("bra L%0;" :: "r"(f(1)));',
            'static_assert(false, "the host backend does not know this PTX: bra L %0");',
        ),
    ],
)
def test_rewritten(text, expected):
    assert prepare(text) == expected


@pytest.mark.parametrize(
    ("text", "kind", "name", "rest"),
    [
        ("extern __shared__ int s[];", "int", "s", ""),
        ("extern __shared__ float t[][33];", "float", "t", "[33]"),
        ("extern __shared__ T *p[ ];", "T *", "p", ""),
        ("__shared__ extern volatile unsigned char c[];", "volatile unsigned char", "c", ""),
        ("extern __shared__ __align__(sizeof(int)) int s[];", "int", "s", ""),
        ("extern __shared__ __attribute__((aligned(16))) int s[];", "int", "s", ""),
        ("extern __shared__ alignas(16) A<int, B> s[];", "A<int, B>", "s", ""),
    ],
)
def test_dynamic_shared_memory(text, kind, name, rest):
    assert " ".join(prepare(text).split()) == (
        f"typedef {kind} gi_type_of_{name}{rest}; gi_type_of_{name} *const &{name} = "
        f"reinterpret_cast<gi_type_of_{name} *const &>(gi_dynamic_shared);"
    )


PIECES = st.sampled_from(
    [
        "\n",
        " ",
        "{",
        "}",
        ";",
        "x = 1;",
        '"a\\"b"',
        "'\"'",
        "/* c\n*/",
        "// d\n",
        "#pragma unroll 4\n",
        "for (;;) ;",
        "extern ",
        "__shared__ ",
        "static ",
        "float s[]",
        "int t[3]",
        'extern "C"',
        "asm(",
        'asm volatile("mov;"\n: "=r"(x))',
        'R"(raw)"',
        "gi_unroll(3)\n",
        "void __launch_bounds__(3,\n4) k(\n",
    ]
)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_lines_stay_where_they_are(text):
    assert prepare(text).count("\n") == text.count("\n")


@given(st.text(alphabet="abc \n\t\"'\\/*#(){};=0", max_size=60))
def test_text_without_such_constructs_is_left_alone(text):
    assert prepare(text) == text


def test_unroll_pragmas_are_marked_for_the_preprocessor():
    text = "#pragma unroll N  // why\n  #pragma unroll\n#pragma once\n"
    assert mark_unrolls(text) == "gi_unroll(N)\n  gi_unroll()\n#pragma once\n"


def test_a_variant_of_a_batch():
    assert variant_text("v7", "void k() {}", ["k"], ["table"]) == (
        "#define __shared__ GI_SHARED\n"
        "namespace { namespace v7 {\n"
        "void k() {}\n"
        "}}\n"
        "#undef __shared__\n"
        "GI_EXPORT(v7, k, v7::k)\n"
        "GI_SYMBOL(v7, table, v7::table)\n"
    )
