"""Functions of headers that are used without their names: operators, conversions and others."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.backends.cuda.backend import cuda_compiler
from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.protocol.variants import Binary, Compiler
from gi_cuda.backends.table import open_compiler
from gi_cuda.evaluate.candidates import build_candidates, unmodified
from gi_cuda.subject import Subject, load_subject
from tests.sweeps import sweep

FOURS = """\
inline __host__ __device__ float4 operator+(float4 a, float4 b)
{
    return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
inline __host__ __device__ void operator+=(float4 &a, float4 b) { a = a + b; }
"""
UNIT = """\
struct Unit {
    float x;
    __host__ __device__ Unit(float v) : x(v) {}
    __host__ __device__ operator float() const { return x; }
};
inline __host__ __device__ float scaled(Unit u) { return 2 * u; }
"""
PAIR = """\
struct Pair { float a, b; __host__ __device__ Pair(float x, float y); };
inline __host__ __device__ Pair::Pair(float x, float y) : a(x), b(y) {}
inline __host__ __device__ float total(const Pair &p) { return p.a + p.b; }
"""
POINT = """\
namespace geo {
struct Point { float x; };
inline __host__ __device__ Point mix(Point a, Point b) { return Point{a.x + b.x}; }
inline __host__ __device__ Point operator-(Point a) { return Point{-a.x}; }
}
"""
ROWS = """\
template <int N> struct Row {
    float d[N];
    __host__ __device__ float &operator[](int i) { return d[i]; }
    __host__ __device__ const float &operator[](int i) const { return d[i]; }
};
template <int N> inline __host__ __device__ Row<N> operator+(const Row<N> &a, const Row<N> &b)
{
    Row<N> sum;
    for (int i = 0; i < N; i++)
        sum[i] = a[i] + b[i];
    return sum;
}
"""
PLUS = """\
template <typename T> struct Plus {
    __host__ __device__ T operator()(const T &a, const T &b) const { return a + b; }
};
template <typename F, typename T> __host__ __device__ T apply(F f, T a, T b) { return f(a, b); }
"""

SUM = "c[i] = a[i] + b[i];"
TYPES = {"types.h": "typedef float4 vec;\nstruct Body { vec at, speed; };\n"}

# By what is reached: the listed header, the source's own types, the elements, the statement, and
# headers that stay includes.
CASES: dict[str, tuple[str, str, str, str, dict[str, str]]] = {
    "an alias of a header that stays": (FOURS, '#include "types.h"', "vec", SUM, TYPES),
    "members of a type of a header that stays": (
        FOURS,
        '#include "types.h"',
        "Body",
        "c[i].at = a[i].at + b[i].speed;",
        TYPES,
    ),
    "a typedef": (FOURS, "typedef float4 vec;", "vec", SUM, {}),
    "an alias": (FOURS, "using vec = float4;", "vec", "c[i] = a[i]; c[i] += b[i];", {}),
    "a macro for a type": (FOURS, "#define vec float4", "vec", SUM, {}),
    "a macro for a sum": (
        FOURS,
        "#define ADD(x, y) ((x) + (y))",
        "float4",
        "c[i] = ADD(a[i], b[i]);",
        {},
    ),
    "a member of a template": (
        FOURS,
        "template <typename T> struct four;\n"
        "template <> struct four<float> { typedef float4 is; };\n"
        "typedef four<float>::is vec;",
        "vec",
        SUM,
        {},
    ),
    "a template that adds": (
        FOURS,
        "template <typename T> __device__ T sum(T a, T b) { return a + b; }",
        "float4",
        "c[i] = sum(a[i], b[i]);",
        {},
    ),
    "conversions": (UNIT, "", "float", "c[i] = scaled(a[i]) + scaled(b[i]);", {}),
    "a constructor in braces": (PAIR, "", "float", "c[i] = total({a[i], b[i]});", {}),
    "functions of the operands' namespace": (
        POINT,
        "typedef geo::Point vec;",
        "vec",
        "c[i] = mix(a[i], -b[i]);",
        {},
    ),
    "operators of a template": (ROWS, "using vec = Row<3>;", "vec", SUM, {}),
    "an object that is called": (PLUS, "", "float", "c[i] = apply(Plus<float>(), a[i], b[i]);", {}),
}

SOURCE = """\
#include "ops.h"
{own}
__global__ void k(const {type} *a, const {type} *b, {type} *c, int n)
{{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {{
        {statement}
    }}
}}
"""
BUFFER = '[[buffer]]\nname = "{name}"\ntype = "uint8"\nsize = "n"\nrole = "{role}"\n'
TARGET = (
    '[target]\nname = "k"\nsource = "k.cu"\nheaders = ["ops.h"]\nkernels = ["k"]\n'
    + "".join(BUFFER.format(name=one, role="input") for one in "ab")
    + BUFFER.format(name="c", role="output")
    + '[[scalar]]\nname = "n"\ntype = "int32"\n'
    '[[launch]]\nkernel = "k"\ngrid = ["1"]\nblock = ["32"]\nargs = ["a", "b", "c", "n"]\n'
    '[oracle]\nkind = "exact"\n'
    '[[case]]\nname = "t"\nrole = "train"\nargs = { n = 32 }\n'
    '[[case]]\nname = "h"\nrole = "held-out"\nargs = { n = 32 }\n'
)


def subject_of(case: str, folder: Path, backend: str) -> Subject:
    listed, own, kind, statement, others = CASES[case]
    files = {
        "k.cu": SOURCE.format(own=own, type=kind, statement=statement),
        "ops.h": f"#pragma once\n{listed}",
        "data.py": "def case(**_):\n    return {}\n",
        "target.toml": TARGET,
        **others,
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    return load_subject(folder, backend)


def builds(subject: Subject, compiler: Compiler, folder: Path) -> bool:
    """Tell whether several variants compile as one batch."""
    built = build_candidates(compiler, [unmodified(subject)] * 2, folder)
    return all(isinstance(one, Binary) for one in built)


@pytest.mark.parametrize("case", sweep(CASES, "an alias of a header that stays"))
def test_they_are_there_on_the_host(case: str, tmp_path: Path) -> None:
    subject = subject_of(case, tmp_path, "host")
    assert builds(subject, open_compiler(subject, 1), tmp_path / "built")


@pytest.mark.parametrize("case", sweep(CASES, "an alias of a header that stays"))
def test_they_are_there_for_nvcc(case: str, toolkit: Toolkit, tmp_path: Path) -> None:
    subject = subject_of(case, tmp_path, "cuda")
    assert builds(subject, cuda_compiler(subject, 1, toolkit, "sm_90"), tmp_path / "built")
