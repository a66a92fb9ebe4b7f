"""Atomic additions of loops: the text that they leave, and where they are not offered."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.access.atomic import Atomic
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.splice import spliced

BEFORE = """\
struct P { float x, y; };
#define LIMIT 224 /* # of rows */
#define AT(k) p[k]
__device__ int count;
__device__ void f(int *q) { q[0] = 1; }
__device__ void meet() { __syncthreads(); }
template <typename T>
__global__ void k(int *p, const int *a, float *x, P *s, T *t, unsigned *u, int n) {
    __shared__ int most, seen[4];
    int i = threadIdx.x;
"""

LOOPS = {
    "a counter": (
        "for (int j = i; j < n; j += 32)\n        atomicAdd(p, a[j]);",
        "int total = 0;\n    for (int j = i; j < n; j += 32)\n        total += a[j];\n"
        "    atomicAdd(p, total);",
    ),
    "a difference": (
        "for (int j = 0; j < n; j++) { atomicSub(&p[i], a[j] + 1); }",
        "int total = 0;\n    for (int j = 0; j < n; j++) { total += a[j] + 1; }\n"
        "    atomicSub(&p[i], total);",
    ),
    "bits": (
        "for (int j = 0; j < n; j++) { atomicOr(u, 1u << a[j]); atomicXor(p, a[j]); }",
        "unsigned int total = 0;\n    int total2 = 0;\n    for (int j = 0; j < n; j++) {"
        " total |= 1u << a[j]; total2 ^= a[j]; }\n    atomicOr(u, total);\n"
        "    atomicXor(p, total2);",
    ),
    "a fraction, in some iterations": (
        "for (int j = 0; j < LIMIT; j++)\n        if (a[j] > 3) atomicAdd(&x[n - 1], 0.5f * a[j]);",
        "float total = 0;\n    for (int j = 0; j < LIMIT; j++)\n"
        "        if (a[j] > 3) total += 0.5f * a[j];\n    atomicAdd(&x[n - 1], total);",
    ),
    "several additions to one place": (
        "for (int j = 0; j < n; j++) {\n        atomicAdd(p, a[j]); // one\n"
        "        if (j & 1) atomicAdd( p, -a[j]);\n    }",
        "int total = 0;\n    for (int j = 0; j < n; j++) {\n        total += a[j]; // one\n"
        "        if (j & 1) total += -a[j];\n    }\n    atomicAdd(p, total);",
    ),
    "the outer one of two loops": (
        "for (int j = 0; j < n; j++)\n        for (int l = 0; l < j; l++) atomicAdd(p + i, a[l]);",
        "int total = 0;\n    for (int j = 0; j < n; j++)\n"
        "        for (int l = 0; l < j; l++) total += a[l];\n    atomicAdd(p + i, total);",
    ),
    "the inner one, where the place changes in the outer one": (
        "for (int j = 0; j < n; j++)\n        for (int l = 0; l < j; l++) atomicAdd(p + j, a[l]);",
        "for (int j = 0; j < n; j++) {\n        int total = 0;\n"
        "        for (int l = 0; l < j; l++) total += a[l];\n"
        "        atomicAdd(p + j, total);\n    }",
    ),
    "shared memory": (
        "while (i < n) { atomicAdd(&most, a[i]); atomicAdd(&seen[2], 1); i += 32; }",
        "int total = 0;\n    int total2 = 0;\n"
        "    while (i < n) { total += a[i]; total2 += 1; i += 32; }\n"
        "    atomicAdd(&most, total);\n    atomicAdd(&seen[2], total2);",
    ),
    "a variable of the file": (
        "do atomicAdd(&count, a[i]); while (++i < n);",
        "int total = 0;\n    do total += a[i]; while (++i < n);\n    atomicAdd(&count, total);",
    ),
    "a member": (
        "#pragma unroll 4\n    for (int j = 0; j < n; j++) atomicAdd(&s[n].x, 2.f * j);",
        "float total = 0;\n    #pragma unroll 4\n"
        "    for (int j = 0; j < n; j++) total += 2.f * j;\n    atomicAdd(&s[n].x, total);",
    ),
    "a type that is a parameter": (
        "for (int j = 0; j < n; j++) atomicAdd(t, (T)j);",
        "T total = 0;\n    for (int j = 0; j < n; j++) total += (T)j;\n    atomicAdd(t, total);",
    ),
    "a loop that ends early": (
        "for (int j = 0; j < n; j++) { if (a[j] == 9) break; atomicAdd(p, j); }",
        "int total = 0;\n    for (int j = 0; j < n; j++) { if (a[j] == 9) break; total += j; }\n"
        "    atomicAdd(p, total);",
    ),
}
"""Test name -> a loop before and after."""

DECLINED = {
    "a place that changes": "for (int j = 0; j < n; j++) atomicAdd(p + a[j], 1);",
    "a pointer that moves": "for (int j = 0; j < n; j++) { atomicAdd(p, 1); p++; }",
    "a result that is used": "for (int j = 0; j < n; j++) i += atomicAdd(p, 1);",
    "memory that is read": "for (int j = 0; j < n; j++) { atomicAdd(p, 1); if (*p > 5) i++; }",
    "memory that a macro reads": "for (int j = 0; j < n; j++) { atomicAdd(p, 1); i += AT(0); }",
    "memory that is passed on": "for (int j = 0; j < n; j++) { atomicAdd(p, 1); f(p); }",
    "two places": "for (int j = 0; j < n; j++) { atomicAdd(p, 1); atomicAdd(p + i, 1); }",
    "a largest value": "for (int j = 0; j < n; j++) atomicMax(p, a[j]);",
    "a barrier": "for (int j = 0; j < n; j++) { atomicAdd(p, 1); __syncthreads(); }",
    "a barrier in a function": "for (int j = 0; j < n; j++) { atomicAdd(p, 1); meet(); }",
    "what the whole system sees": "for (int j = 0; j < n; j++) atomicAdd_system(p, 1);",
    "a return": "for (int j = 0; j < n; j++) { if (a[j]) return; atomicAdd(p, 1); }",
    "no loop": "atomicAdd(p, 1);",
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_adds_up_in_variables(name: str) -> None:
    before, after = (f"{BEFORE}    {body}\n}}\n" for body in LOOPS[name])
    code = read_code(Source("k.cu", before))
    (site,) = Atomic().sites(code)
    rewrite = Atomic().rewrite(code, site.at, "atomic_K")
    assert rewrite is not None
    assert spliced(code.source, rewrite.splices).text == after


@pytest.mark.parametrize("name", DECLINED)
def test_a_loop_that_uses_the_memory_otherwise_has_no_site(name: str) -> None:
    code = read_code(Source("k.cu", f"{BEFORE}    {DECLINED[name]}\n}}\n"))
    assert list(Atomic().sites(code)) == []
