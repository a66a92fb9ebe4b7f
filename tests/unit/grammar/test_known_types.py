"""Types of expressions that depend on headers which stay includes, or on overloads."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.grammar import ALL_TYPES, RuleType, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import load_cuda

INNER = "#pragma once\ntypedef float real;\n"
HEADER = """#pragma once
#include "inner.h"
struct Body { real x, mass; int kind; };
enum Phase { SOLID, LIQUID };
inline __device__ real weight(const Body &b) { return b.mass; }
namespace far { inline __device__ int hidden(int i) { return i; } }
"""
SOURCE = """#include "lib/types.h"
__global__ void k(Body *bodies, float *out, int *kinds, int n) {
  int i = threadIdx.x;
  Body b = bodies[i];
  out[i] = b.mass;
  out[n] = weight(b);
  kinds[i] = b.kind;
  kinds[n] = SOLID;
  kinds[2] = far::hidden(i);
}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A source with two headers, one of which includes the other."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "inner.h").write_text(INNER)
    (tmp_path / "lib" / "types.h").write_text(HEADER)
    (tmp_path / "k.cu").write_text(SOURCE)
    return tmp_path


def right_sides(path: Path) -> dict[str, set[str]]:
    """Return the donors for the right side of each assignment, by its text."""
    grammar = convert(load_cuda(path, (), ()), None, ALL_TYPES)
    rules = [rule for rule in grammar.rules if rule.type is RuleType.RHS]
    text = grammar.text
    return {text(r.name): {text(donor) for donor in grammar.donors(r.name)} for r in rules}


def offered(found: dict[str, set[str]]) -> set[str]:
    """All that may stand somewhere else: whose type is known."""
    return set().union(*found.values())


def test_members_and_functions_of_a_header_have_its_types(tree: Path) -> None:
    found = right_sides(tree / "k.cu")
    assert found["b.mass"] == {"threadIdx.x", "weight(b)", "b.kind", "SOLID"}
    assert found["bodies[i]"] == set()
    assert offered(found) == {"threadIdx.x", "b.mass", "weight(b)", "b.kind", "SOLID"}


def test_a_header_that_evolves_gives_the_same(tree: Path) -> None:
    path, header = tree / "k.cu", tree / "lib" / "types.h"
    grammar = convert(load_cuda(path, (header,), ()), None, ALL_TYPES)
    names = [rule.name for rule in grammar.rules if rule.type is RuleType.RHS]
    assert {grammar.text(name) for name in names} == right_sides(path).keys()


@pytest.mark.parametrize("missing", ["lib/inner.h", "lib/types.h"])
def test_what_is_not_there_or_no_text_is_not_known(tree: Path, missing: str) -> None:
    (tree / missing).write_bytes(b"\0\1")
    assert "b.mass" not in offered(right_sides(tree / "k.cu"))
    (tree / missing).unlink()
    assert "b.mass" not in offered(right_sides(tree / "k.cu"))


def test_headers_that_include_each_other_end(tree: Path) -> None:
    (tree / "lib" / "inner.h").write_text('#include "types.h"\n' + INNER)
    assert "b.mass" in offered(right_sides(tree / "k.cu"))


def test_of_overloads_the_arguments_choose(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text("""
__device__ int half_of(int x) { return x / 2; }
__device__ float half_of(float x) { return x / 2.f; }
__device__ float half_of(float x, float y);
__device__ float scaled(float x, float by = 2.f) { return x * by; }
template <class T> __device__ T made(T x) { return x; }
__global__ void k(float *out, int *kinds, float x, int i, double d) {
  out[0] = half_of(x);
  out[1] = half_of(x, x);
  out[2] = scaled(x);
  kinds[0] = half_of(i);
  out[3] = half_of(d, d);
  out[4] = half_of(d);
  kinds[1] = made(i);
}
""")
    # Of the others it cannot be told without the rules of conversions, or of templates.
    known = {"half_of(x)", "half_of(x, x)", "scaled(x)", "half_of(d, d)", "half_of(i)"}
    assert offered(right_sides(source)) == known


@pytest.mark.parametrize(
    ("macros", "known"),
    [
        ("#define real float  // single precision\n", True),
        ("#define real unsigned int\n", True),
        ("#ifdef WIDE\n#define real double\n#else\n#define real float\n#endif\n", False),
        ("#ifndef real\n#define real float\n#endif\n", False),
        ("#define real my_type\n", False),
    ],
)
def test_a_macro_that_always_is_one_type_is_known(macros: str, known: bool) -> None:
    text = macros + "__global__ void k(real *a, real b) { a[0] = b + 1; a[1] = b; }\n"
    grammar = convert(Source("k.cu", text), types=ALL_TYPES)
    sums = [one.name for one in grammar.rules if grammar.text(one.name) == "b + 1"]
    assert bool(sums and grammar.donors(sums[0])) is known
