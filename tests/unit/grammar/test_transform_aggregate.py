"""Warp-aggregated atomics: the text that they leave, and where they are not offered."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.cuda.transforms.access.aggregate import Aggregate
from gi_cuda.grammar.frontends.cuda.transforms.code import read_code
from gi_cuda.grammar.splice import spliced

BEFORE = """\
struct P { float x, y; };
#define LAST 3
__device__ double all;
template <typename T>
__global__ void k(float *p, float *q, P *s, T *t, int *c, int **d, int n) {
    __shared__ float sum, sums[4];
    __shared__ double2 pair;
    int i = threadIdx.x;
"""

AFTER = """\
    if (__activemask() == 0xffffffff) {
        float total = q[i];
        for (int offset = 16; offset > 0; offset /= 2) {
            total += __shfl_xor_sync(0xffffffff, total, offset);
        }
        if ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32 == 0) {
            atomicAdd(ADDRESS, total);
        }
        __syncwarp();
    } else {
        atomicAdd(ADDRESS, q[i]);
    }
"""

ADDRESSES = {
    "a shared variable": "&sum",
    "an element of a shared array": "&sums[LAST]",
    "a parameter": "p",
    "an element that the block has": "&p[blockIdx.x * 2 + n]",
    "an address that the block has": "p + blockIdx.x",
    "a member": "&s->y",
    "a member of an element": "&s[1].y",
}

DECLINED = {
    "an address of each thread": "atomicAdd(&p[i], q[i]);",
    "an address of each row": "int row = i / 8; atomicAdd(p + row, q[i]);",
    "an address that a loop changes": "for (int j = 0; j < n; j++) atomicAdd(&p[j], q[i]);",
    "an address that memory gives": "atomicAdd(&p[c[0]], q[i]);",
    "an address behind another one": "atomicAdd((float *)d[1], q[i]);",
    "an address that changes": "if (i > n) p++; atomicAdd(p, q[i]);",
    "an address of one of two variables": "{ int m = 1; } int m = i; atomicAdd(p + m, q[i]);",
    "a result that is used": "q[i] = atomicAdd(p, q[i]);",
    "numbers that the compiler gathers": "atomicAdd(c, c[i]);",
    "one thread": "if (threadIdx.x == 0) atomicAdd(p, q[i]);",
    "one lane": "const int lane = i & 31; if (!lane) atomicAdd(p, q[i]);",
}


def texts(body: str, head: str = BEFORE) -> list[str]:
    """The text after each rewrite."""
    code = read_code(Source("k.cu", f"{head}{body}\n}}\n"))
    found = (Aggregate().rewrite(code, one.at, "aggregate_K") for one in Aggregate().sites(code))
    return [spliced(code.source, one.splices).text for one in found if one is not None]


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_lane_adds_for_its_warp(name: str) -> None:
    address = ADDRESSES[name]
    (after,) = texts(f"    atomicAdd({address}, q[i]);")
    assert after == f"{BEFORE}{AFTER.replace('ADDRESS', address)}}}\n"


def test_additions_of_variables_that_follow_each_other_are_made_together() -> None:
    (after,) = texts(
        "    double a = q[i];\n    atomicAdd(&all, a);\n    atomicAdd(&pair.y, a * a);"
    )
    assert after.endswith("""\
    double a = q[i];
    if (__activemask() == 0xffffffff) {
        double total = a;
        double total2 = a * a;
        for (int offset = 16; offset > 0; offset /= 2) {
            total += __shfl_xor_sync(0xffffffff, total, offset);
            total2 += __shfl_xor_sync(0xffffffff, total2, offset);
        }
        if ((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32 == 0) {
            atomicAdd(&all, total);
            atomicAdd(&pair.y, total2);
        }
        __syncwarp();
    } else {
        atomicAdd(&all, a);
        atomicAdd(&pair.y, a * a);
    }
}
""")


def test_additions_that_read_memory_are_made_one_after_the_other() -> None:
    (after,) = texts("    atomicAdd(p, q[i]);\n    atomicAdd(q, p[1]);")
    assert after.count("__activemask()") == 2


def test_a_statement_without_braces_gets_some() -> None:
    (after,) = texts("    if (i < n)\n        atomicAdd(t, (T)i);\n    else\n        p[i] = 0;")
    assert after.replace(BEFORE, "").startswith(
        "    if (i < n)\n        {\n            if (__activemask() == 0xffffffff) {\n"
        "                T total = (T)i;\n"
    )
    assert after.endswith("            }\n        }\n    else\n        p[i] = 0;\n}\n")


@pytest.mark.parametrize("name", DECLINED)
def test_where_it_is_not_offered(name: str) -> None:
    assert texts(f"    {DECLINED[name]}") == []


def test_a_function_may_be_given_another_address_by_each_thread() -> None:
    head = "__device__ void add(float *p, float x) {\n"
    kernel = "}\n__global__ void k(float *a) {\n    add(a + threadIdx.x, 1);"
    assert texts(f"    atomicAdd(p, x);\n{kernel}", head) == []
