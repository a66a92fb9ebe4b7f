"""Accesses of a kernel to the memory behind a pointer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, kernels
from gi_cuda.init.kernel.access import Access, accesses, is_compared
from gi_cuda.init.proposing.buffers import role_of

HELPERS = """
__device__ float get(const float *from, int i) { return from[i]; }
__device__ void put(float *to, int i) { to[i] = 1; }
__device__ void both(float *to, int i) { put(to, i); to[0] = get(to, i); }
__device__ void down(float *to, int i) { if (i) down(to, i - 1); }
__device__ void by_reference(float &to) { to = 1; }
#define SWAP(a, b) { float t = a; a = b; b = t; }
#define RAISED(x) (++(x))
#define MORE(x) (RAISED(x) >= 2)
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", Access.NONE),
        ("if (p == 0) i = sizeof(*p) * sizeof(p);", Access.NONE),
        ("float x = p[i];", Access.READ),
        ("float x = *(p + i) + get(p, i);", Access.READ),
        ("float x = __ldg(&p[i]);", Access.READ),
        ("float x = __ldg(p + i);", Access.READ),
        ("q[i] = p[i];", Access.READ),
        ("p[i] = 1;", Access.WRITE),
        ("*(p + i) = 1;", Access.WRITE),
        ("*p++ = 1;", Access.WRITE),
        ("(p[i]) = 1;", Access.WRITE),
        ("put(p + 1, i);", Access.WRITE),
        ("put(&p[i], i);", Access.WRITE),
        ("float *r = p + i; r[2] = 1;", Access.WRITE),
        ("float *r; r = p; *r = 1;", Access.WRITE),
        ("reinterpret_cast<float4 *>(p)[i] = v;", Access.WRITE),
        ("((float4 *)p)[i] = v;", Access.WRITE),
        ("p[i] += 1;", Access.READ | Access.WRITE),
        ("p[i]++;", Access.READ | Access.WRITE),
        ("p[i] = p[i] * 2;", Access.READ | Access.WRITE),
        ("both(p, i);", Access.READ | Access.WRITE),
        ("elsewhere(p);", Access.READ | Access.WRITE),
        ("by_reference(p[i]);", Access.READ | Access.WRITE),
        ("SWAP(p[i], p[0]);", Access.READ | Access.WRITE),
        ("int x = MORE(p[i]);", Access.READ | Access.WRITE),
        ("float x = min(p[i], 1.0f);", Access.READ),
        ("atomicAdd(&p[i], 1.0f);", Access.ATOMIC),
        ("atomicAdd(p + i, 1.0f);", Access.ATOMIC),
        ("atomicMax(&p[i], 1);", Access.READ | Access.WRITE),
        ("down(p, i);", Access.NONE),
        ("(i ? p : q)[i] = 1;", Access.WRITE),
        ("float *r = i ? p : q; x = r[i];", Access.READ),
    ],
)
def test_reads_and_writes(read: Callable[[str], CudaFile], body: str, expected: Access) -> None:
    code = read(f"{HELPERS}\n__global__ void k(float *p, float *q, int i) {{ {body} }}")
    assert accesses(code, kernels(code)[0].definition, "p") == expected


def test_members_of_structs(read: Callable[[str], CudaFile]) -> None:
    code = read(
        "struct S { float x; };__global__ void k(S *p, S *q, S *r) { p->x = q[0].x; r[1].x += 1; }"
    )
    (kernel,) = kernels(code)
    found = [accesses(code, kernel.definition, name) for name in "pqr"]
    assert [role_of(one) for one in found] == ["output", "input", "inout"]


def test_comparisons(read: Callable[[str], CudaFile]) -> None:
    code = read("__global__ void k(int n, int m, int s) { if (m <= 3 + s && s * 2 > n) return; }")
    (kernel,) = kernels(code)
    assert [is_compared(code, kernel.definition, name) for name in "nms"] == [True, True, False]


@pytest.mark.parametrize(
    ("body", "bounds"),
    [
        ("if (a[i] < line) a[i] = 0;", False),
        ("if ((int)a[i] < (line)) a[i] = 0;", False),
        ("a[i] = image.at(i) < line ? 0 : 255;", False),
        ("int pixel = a[i]; if (pixel > line) a[i] = 0;", False),
        ("int pixel; pixel = a[i]; if (pixel > line) a[i] = 0;", False),
        ("int pixel = a[i]; pixel++; if (pixel > line) a[i] = 0;", True),
        ("if (a[i] < line && i < line) a[i] = 0;", True),
        ("if (place(i) < line) a[i] = 0;", True),
        ("int at = i; if (at < line) a[at] = 0;", True),
        ("if (a[i] + i < line) a[i] = 0;", True),
        ("int2 at = make_int2(i, a[i]); if (at.x < line) a[i] = 0;", True),
        ("if (threadIdx.x < line) a[i] = 0;", True),
        ("if (at(2) < line) a[i] = 0;", True),
    ],
)
def test_what_items_are_compared_with_is_a_threshold(
    read: Callable[[str], CudaFile], body: str, bounds: bool
) -> None:
    code = read(
        f"__global__ void k(int *a, Image image, int line) {{ int i = threadIdx.x; {body} }}"
    )
    (kernel,) = kernels(code)
    assert is_compared(code, kernel.definition, "line") == bounds


def test_what_is_equal_to_a_number_is_a_mode(read: Callable[[str], CudaFile]) -> None:
    code = read("__global__ void k(int *a, int p, int n) { a[0] = p == 2 ? 1 : threadIdx.x != n; }")
    (kernel,) = kernels(code)
    assert [is_compared(code, kernel.definition, name) for name in "pn"] == [False, True]
