"""Scalar replacement in loops: the text that it leaves, and where it is not offered."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import EDIT_SETS, Expansion, Grammar, RuleType, Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from tests.unit.grammar.scalar_loops import LOOPS
from tests.unit.grammar.scalar_members import MEMBERS

CASES = LOOPS | MEMBERS

BEFORE = """
struct P { float x, y; };
struct Q { float v[2]; };
struct C { float x; __device__ void twice() { x *= 2; } };
struct N { N *next; float x; };
union U { float f; int i; };
#define AT(k) a[k]
__device__ void f(float *p) { p[0] = 1; }
__device__ int g(int i) { return i + 1; }
__device__ void meet() { __syncthreads(); }
"""
DECLINED = {
    "an index that changes": ("float *a, int n", "for (int j = 0; j < n; j++) a[j] += 1;"),
    "an index that the loop computes": (
        "float *a, const int *at, int n",
        "for (int j = 0; j < n; j++) { int e = at[j]; a[e] += 1; }",
    ),
    "two elements": ("float *a, int n", "for (int j = 0; j < n; j++) a[t] += a[t + 1];"),
    "an element that all threads share": (
        "float *a, int n",
        "for (int j = 0; j < n; j++) a[0] += 1;",
    ),
    "an access in some iterations only": (
        "float *a, int n",
        "for (int j = 0; j < n; j++) if (j > 2) a[t] += 1;",
    ),
    "a barrier": ("float *a, int n", "for (int j = 0; j < n; j++) { a[t] += 1; __syncthreads(); }"),
    "a barrier in a function": (
        "float *a, int n",
        "for (int j = 0; j < n; j++) { a[t] += 1; meet(); }",
    ),
    "an atomic": (
        "float *a, float *b, int n",
        "for (int j = 0; j < n; j++) { a[t] += 1; atomicAdd(b, a[t]); }",
    ),
    "a return": (
        "float *a, int n",
        "for (int j = 0; j < n; j++) { a[t] += 1; if (j > 3) return; }",
    ),
    "a label": (
        "float *a, int n",
        """\
again:
for (int j = 0; j < n; j++) a[t] += 1;
if (a[t] < 3) goto again;
""",
    ),
    "volatile memory": ("volatile float *a, int n", "for (int j = 0; j < n; j++) a[t] += 1;"),
    "a pointer that moves": ("float *a, int n", "for (int j = 0; j < n; j++) { a[t] += 1; a++; }"),
    "a pointer that is passed on": (
        "float *a, int n",
        "for (int j = 0; j < n; j++) { a[t] += 1; f(a); }",
    ),
    "an address": (
        "float *a, int n",
        "for (int j = 0; j < n; j++) { a[t] += 1; float *p = &a[t]; *p = 2; }",
    ),
    "a macro that hides an access": (
        "float *a, int n",
        "for (int j = 0; j < n; j++) { a[t] += 1; AT(j) = 1; }",
    ),
    "a call in the index": ("float *a, int n", "for (int j = 0; j < n; j++) a[g(t)] += 1;"),
    "a member, and the structure as a whole": (
        "P *a, P *b, int n",
        "for (int j = 0; j < n; j++) { a[t].x += 1; b[j] = a[t]; }",
    ),
    "members of two structures": (
        "P *a, int n",
        "for (int j = 0; j < n; j++) a[t].x += a[n].y;",
    ),
    "members of a union": (
        "U *a, int n",
        "for (int j = 0; j < n; j++) a[t].f += a[t].i;",
    ),
    "a member that all threads share": (
        "P *a, int n",
        "for (int j = 0; j < n; j++) a->x += 1;",
    ),
    "members, and a function that may change them": (
        "C *a, int n",
        "for (int j = 0; j < n; j++) { a[t].x += 1; a[t].twice(); }",
    ),
    "an array in a structure, of which a function gets another element": (
        "Q *q, int n",
        "for (int j = 0; j < n; j++) { q->v[t] += 1; f(q->v); }",
    ),
    "a member that a member leads to": (
        "N *a, int n",
        "for (int j = 0; j < n; j++) a[t].next->x += 1;",
    ),
    "an array in a structure that is passed on": (
        "float *a, Q *q, int n",
        "for (int j = 0; j < n; j++) { a[j] = 1; f(q[t].v); }",
    ),
    "elements that are read, and nothing is written": (
        "float *a, float *b, int n",
        "float s = 0; for (int j = 0; j < n; j++) s += a[t]; b[t] = s;",
    ),
    "elements that no store can change": (
        "const float *__restrict__ a, float *b, int n",
        "for (int j = 0; j < n; j++) b[j] = a[t];",
    ),
    "an element that only starts the loop": (
        "const int *a, float *b, int n",
        "for (int j = a[t]; j < n; j++) b[j] = 1;",
    ),
    "an array of the thread alone": (
        "float *a, int n",
        "float own[2]; for (int j = 0; j < n; j++) own[0] += 1; a[t] = own[0];",
    ),
}


def of(text: str, kernel: str | None = None) -> Grammar:
    kernels = None if kernel is None else [kernel]
    return convert(Source("k.cu", text), kernels, EDIT_SETS["transforms"])


def sites(grammar: Grammar) -> list[str]:
    return [rule.name for rule in grammar.rules if rule.type is RuleType.SCALAR]


@pytest.mark.parametrize("name", CASES)
def test_a_loop_keeps_elements_in_variables(name: str) -> None:
    choice, before, after = CASES[name]
    grammar = of(before)
    (site,) = sites(grammar)
    edits = {site: Expansion((), choice)}
    assert CudaText(grammar).render(edits) == after
    assert CudaText(grammar).shape(edits) == {}


@pytest.mark.parametrize("name", DECLINED)
def test_a_loop_whose_elements_may_change_has_no_site(name: str) -> None:
    parameters, body = DECLINED[name]
    text = f"{BEFORE}__global__ void k({parameters}) {{\nint t = threadIdx.x;\n{body}\n}}\n"
    assert sites(of(text, "k")) == []
