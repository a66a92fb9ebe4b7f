"""Vector accesses: the text that they leave, and where they are not offered."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import EDIT_SETS, Expansion, Grammar, RuleType, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from tests.unit.grammar.vector_arrays import ARRAYS
from tests.unit.grammar.vector_guards import GUARDS

CASES = GUARDS | ARRAYS

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
BEFORE = """
struct P { float x, y; };
#define AT(k) a[k]
__device__ void f(float *p, int i) { p[i] = 1; }
"""
DECLINED = {
    "shared memory": (
        "float *a, float *b, int n",
        "__shared__ float s[64]; INDEX if (i < n) { s[0] = a[i]; b[i] = s[0]; }",
    ),
    "a second dimension": (
        "float *a, int n",
        "INDEX int j = blockIdx.y * blockDim.y + threadIdx.y; if (i < n) a[i] = j;",
    ),
    "the number of the thread in its block": (
        "float *a, int n",
        "INDEX if (i < n) a[i] = threadIdx.x;",
    ),
    "no guard": ("float *a, int n", "INDEX a[i] = n;"),
    "a guard with an else": ("float *a, int n", "INDEX if (i < n) a[i] = 0; else a[0] = 1;"),
    "statements after the guard": ("float *a, int n", "INDEX if (i < n) a[i] = 0; a[0] = 2;"),
    "a use of the index before the guard": (
        "float *a, int n",
        "INDEX float x = i; if (i < n) a[i] = x;",
    ),
    "a test for equality": ("float *a, int n", "INDEX if (i != n) a[i] = 0;"),
    "an index with something added": (
        "float *a, int n, int from",
        "int i = from + blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = 0;",
    ),
    "an index that changes": ("float *a, int n", "INDEX if (i < n) { a[i] = 0; i += 2; }"),
    "a bound that the work changes": (
        "float *a, int *n",
        "INDEX if (i < *n) { a[i] = 0; *n = 3; }",
    ),
    "a sum over items": (
        "float *a, int n",
        "float sum = 0; INDEX if (i < n) { sum += 1; a[i] = sum; }",
    ),
    "a parameter that the work changes": (
        "float *a, int n, float x",
        "INDEX if (i < n) { x *= 2; a[i] = x; }",
    ),
    "a return in a loop": (
        "float *a, int n",
        "INDEX if (i < n) { a[i] = 1; for (int j = 0; j < n; j++) if (j > 3) return; }",
    ),
    "a lambda": (
        "float *a, int n",
        "INDEX auto f = [=](int j) { return a[j]; }; if (i < n) a[i] = f(i);",
    ),
    "elements of another item that are written": (
        "float *a, int n",
        "INDEX if (i < n) a[i] = a[i + 1];",
    ),
    "an element that is accessed in some cases only": (
        "float *a, int n, int m",
        "INDEX if (i < n) { if (i < m) a[i] = 0; }",
    ),
    "an address": ("float *a, int n", "INDEX if (i < n) { float *p = &a[i]; *p = a[i]; }"),
    "the address of a part of an element": (
        "float2 *a, int n",
        "INDEX if (i < n) { a[i].x = 0; atomicAdd(&a[i].y, 1); }",
    ),
    "a pointer that is passed on": ("float *a, int n", "INDEX if (i < n) { a[i] = 0; f(a, i); }"),
    "a structure": ("P *a, int n", "INDEX if (i < n) a[i].x = 0;"),
    "three floats": ("float3 *a, int n", "INDEX if (i < n) a[i].x = 0;"),
    "16 bytes an item already": ("float4 *a, int n", "INDEX if (i < n) a[i].x = 0;"),
    "a pointer to pointers": ("float **a, int n", "INDEX if (i < n) a[i][0] = 0;"),
    "volatile memory": ("volatile float *a, int n", "INDEX if (i < n) a[i] = 0;"),
    "a macro that hides an access": (
        "float *a, int n",
        "INDEX if (i < n) { a[i] = 0; AT(i) = 1; }",
    ),
    "a part that is compiled on a condition": (
        "float *a, int n",
        """\
INDEX
if (i < n) {
#if WIDE
a[i] = 0;
#endif
a[i] = 1;
}
""",
    ),
    "an array of the kernel alone": (
        "float *a, int n",
        "INDEX float b[4]; if (i < n) { b[0] = i; a[n - i] = b[0]; }",
    ),
    "a loop that ends early": (
        "float *a, int n",
        "for (INDEX i < n; i += blockDim.x * gridDim.x) { if (a[i] > 1) break; a[i] = 0; }",
    ),
    "a loop with another stride": (
        "float *a, int n",
        "for (INDEX i < n; i += 2 * blockDim.x * gridDim.x) a[i] = 0;",
    ),
}


def of(text: str, kernel: str | None = None) -> Grammar:
    kernels = None if kernel is None else [kernel]
    return convert(Source("k.cu", text), kernels, EDIT_SETS["transforms"])


def sites(grammar: Grammar) -> list[str]:
    return [rule.name for rule in grammar.rules if rule.type is RuleType.VECTOR]


@pytest.mark.parametrize("name", CASES)
def test_a_thread_handles_consecutive_items(name: str) -> None:
    choice, before, after = CASES[name]
    grammar = of(before)
    (site,) = sites(grammar)
    assert CudaText(grammar).render({site: Expansion((), choice)}) == after


@pytest.mark.parametrize("name", DECLINED)
def test_a_kernel_that_is_not_elementwise_has_no_site(name: str) -> None:
    parameters, body = DECLINED[name]
    body = body.replace("INDEX", INDEX)
    text = f"{BEFORE}__global__ void k({parameters}) {{\n{body}\n}}\n"
    assert sites(of(text, "k")) == []


@pytest.mark.parametrize(
    ("element", "counts"),
    [
        ("float", [2, 4]),
        ("double", [2]),
        ("long long", [2]),
        ("short", [2, 4, 8]),
        ("__half", [2, 4, 8]),
        ("__nv_bfloat16", [2, 4, 8]),
        ("unsigned char", [4, 8, 16]),
        ("bool", [4, 8, 16]),
        ("float2", [2]),
        ("float3", []),
        ("T", [2, 4, 8]),
        ("DTYPE", [2, 4, 8]),
        ("typename T::number", [2, 4, 8]),
        ("half3", []),
        ("pixel", []),
        ("point", []),
    ],
)
def test_the_widest_access_has_4_to_16_bytes(element: str, counts: list[int]) -> None:
    text = (
        "struct pixel { DTYPE r, g, b; };\ntypedef struct { DTYPE x; } point;\n"
        f"template <typename T> __global__ void k(const {element} *a, {element} *b, int n) {{\n"
        f"    {INDEX}\n    if (i < n) b[i] = a[i];\n}}\n"
    )
    grammar = of(text)
    choices = [one for site in sites(grammar) for one in grammar.rule(site).choices]
    assert choices == [f"vector_K{count}" for count in counts]


def test_as_many_fewer_blocks_are_launched() -> None:
    grammar = of(CASES["a guarded sum of two arrays"][1])
    (site,) = sites(grammar)
    text = CudaText(grammar)
    assert text.shape({site: Expansion((), "vector_K4")}) == {"add.items.x": 4}
    assert text.shape({site: Expansion((), "vector_K2")}) == {"add.items.x": 2}


def test_lines_keep_their_endings() -> None:
    _, before, after = CASES["an early return, tabs, and a comment"]
    grammar = of(before.replace("\n", "\r\n"))
    (site,) = sites(grammar)
    changed = CudaText(grammar).render({site: Expansion((), "vector_K4")})
    assert changed == after.replace("\n", "\r\n")


def test_an_edit_that_takes_the_guard_away_leaves_no_vector() -> None:
    _, before, _ = CASES["a guarded sum of two arrays"]
    grammar = of(before)
    (site,) = sites(grammar)
    (guard,) = (rule.name for rule in grammar.rules if rule.type is RuleType.IF)
    edits = {site: Expansion((), "vector_K4"), guard: Expansion((), "")}
    assert CudaText(grammar).render(edits) == before.replace("i < n", "0")
    assert CudaText(grammar).shape(edits) == {}
