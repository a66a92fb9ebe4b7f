"""Ranking of several kernels for a target."""

from __future__ import annotations

from collections.abc import Callable

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile
from gi_cuda.init.ranking import ranked

KERNELS = """
__device__ float slow(float x) { for (int i = 0; i < 9; i++) x = x * x + 1; return x; }
__global__ void fill(float *a) { a[threadIdx.x] = 1; }
__global__ void calls(float *a) { a[threadIdx.x] = slow(a[threadIdx.x]); }
__global__ void large(float *a) {
    for (int i = 0; i < 9; i++) for (int j = 0; j < 9; j++) a[i] += j;
}
__global__ void idle(int n) {
    for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) n += i * j;
}
"""

Reader = Callable[[str], CudaFile]


def order(read: Reader, host: str = "", kernels: str = KERNELS) -> list[str]:
    return [one.kernel for one in ranked(read(kernels + host))]


def test_without_host_code_the_most_work_comes_first_and_no_data_last(read: Reader) -> None:
    assert order(read) == ["large", "calls", "fill", "idle"]


def test_what_is_launched_comes_before_what_is_not(read: Reader) -> None:
    host = "void run(float *a) { fill<<<1, 32>>>(a); calls<<<1, 32>>>(a); idle<<<1, 1>>>(3); }"
    assert order(read, host) == ["calls", "fill", "large", "idle"]


def test_a_launch_in_a_loop_counts_for_several(read: Reader) -> None:
    host = (
        "void run(float *a) { calls<<<1, 32>>>(a);"
        " for (int s = 0; s < 9; s++) while (a) fill<<<1, 32>>>(a); }"
    )
    first, second, *_ = ranked(read(KERNELS + host))
    assert (first.kernel, first.why) == ("fill", "launched once, in a loop")
    assert (second.kernel, second.why) == ("calls", "launched once")


def test_of_the_branches_of_a_switch_one_is_taken(read: Reader) -> None:
    kernels = (
        "template <int N> __global__ void some(float *a) { a[0] = N; }\n"
        "__global__ void other(float *a) { a[0] = a[1] + 2; }\n"
    )
    cases = "".join(f"case {n}: some<{n}><<<1, {n}>>>(a); break; " for n in (32, 64, 128, 256))
    host = f"void run(float *a, int n) {{ switch (n) {{ {cases} }} other<<<1, 32>>>(a); }}"
    assert order(read, host, kernels) == ["other", "some"]


def test_launches_by_pointers_and_the_runtime(read: Reader) -> None:
    many = "".join(f"__global__ void k{n}(float *a) {{ a[0] = {n}; }}\n" for n in range(6))
    host = (
        "void run(float *a) { k1<<<1, 32>>>(a); k2<<<1, 1>>>(a); void *args[] = {&a};"
        " cudaLaunchKernel((void *)k4, dim3(1), dim3(32), args, 0, 0);"
        " void (*chosen)(float *) = k5; chosen<<<1, 32>>>(a); }"
    )
    assert order(read, host, many) == ["k1", "k2", "k4", "k5", "k0", "k3"]


def test_overloads_are_told_apart_as_kernel_takes_them(read: Reader) -> None:
    kernels = (
        "__global__ void k(float *a) { a[0] = 1; }\n__global__ void k(int *a) { a[0] = 1 + 1; }\n"
    )
    assert order(read, "", kernels) == ["k(int *)", "k(float *)"]
