"""Launches in functions, templates and loops of host code."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gi_cuda.grammar.frontends.cuda.declarations.element_types import read_element_types
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, kernels
from gi_cuda.init.host.host import KnownNames, read_host_code
from gi_cuda.init.host.launching import launch_sites

from .conftest import launch


def test_a_variable_of_a_loop_is_passed_as_it_is_at_first(read: Callable[[str], CudaFile]) -> None:
    host = (
        "void run(float *a) { for (int s = 2 * BLOCK; s < 4096; s <<= 1)"
        " for (int t = s / 2; t > 0; t >>= 1) k<<<8, 32>>>(a, t, 1.0f); }"
    )
    assert launch(read, host).values["n"] == 64


def test_a_wrapper_is_asked_for_by_its_callers(read: Callable[[str], CudaFile]) -> None:
    host = (
        "void wrap(float *v, int count, int blocks, dim3 threads) {"
        " k<<<blocks, threads>>>(v, count, 1.0f); }\n"
        "int main() { int m = 5000; float *d; cudaMalloc(&d, m * sizeof(float));"
        " dim3 t(32, 2); wrap(d, m, (m + 31) / 32, t); }"
    )
    use = launch(read, host)
    assert (use.grid, use.block) == (("(n + 31) / 32",), ("32", "2"))
    assert use.allocated == {"a": "(n * 4)"} or use.allocated == {"a": "n * 4"}
    assert use.values["n"] == 5000


def test_a_template_that_launches_is_what_its_first_call_makes_it(
    read: Callable[[str], CudaFile],
) -> None:
    code = read(
        "template <class T, int B> __global__ void k(T *a, int n) { }\n"
        "template <class T, int B> void wrap(T *a, int n) { k<T, B><<<n / B, B>>>(a, n); }\n"
        "void run(double *a, int n) { switch (n) { case 1: wrap<double, 64>(a, n); break;"
        " default: wrap<double, 128>(a, n); } }"
    )
    kernel, types = kernels(code)[0], read_element_types([code])
    (use,) = launch_sites(read_host_code(code), kernel, types, KnownNames())
    assert use.templates == ("double", "64")
    assert (use.grid, use.block, use.types["a"]) == (("n / 64",), ("64",), "double")


@pytest.mark.parametrize(
    "text",
    [
        "cudaLaunchKernel((void *)k, dim3(n / 64), dim3(64), args, 8, 0);",
        "CHECK(cudaLaunchCooperativeKernel((const void *)&k, n / 64, 64, args, 8));",
        "void (*f)(float *, int, float) = k; f<<<n / 64, 64, 8>>>(a, n, s);",
        "void (*f)(float *, int, float); switch (n) { case 1: f = &other; break;"
        " default: f = &k; } f<<<n / 64, 64, 8>>>(a, n, s);",
        'CUfunction f; cuModuleGetFunction(&f, m, "k");'
        " cuLaunchKernel(f, n / 64, 1, 1, 64, 1, 1, 8, 0, args, 0);",
    ],
)
def test_launches_by_functions(read: Callable[[str], CudaFile], text: str) -> None:
    host = (
        "void run(float *a, int n, float s, CUmodule m) {"
        f" void *args[] = {{&a, (void *)&n, &s}}; {text} }}"
    )
    use = launch(read, host)
    assert use.grid in (("n / 64",), ("n / 64", "1", "1"))
    assert use.block in (("64",), ("64", "1", "1"))
    assert use.shared == "8"


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("if (size == 16) k<<<1, 16>>>(a, n, 1.0f); else k<<<1, 32>>>(a, n, 1.0f);", "32"),
        ("if (size == 32) { k<<<1, 32>>>(a, n, 1.0f); } else k<<<1, 1>>>(a, n, 1.0f);", "32"),
        ("if (size == 8) k<<<1, 8>>>(a, n, 1.0f);", "8"),
        ("if (n == 8) k<<<1, 8>>>(a, n, 1.0f);", "8"),
    ],
)
def test_a_branch_that_is_taken(read: Callable[[str], CudaFile], text: str, block: str) -> None:
    host = (
        f"void run(float *a, int n, char **v) {{ int size = 32; if (n) size = atoi(v[1]); {text} }}"
    )
    assert launch(read, host).block == (block,)


def test_a_macro_is_what_it_is_in_the_branch_that_counts(read: Callable[[str], CudaFile]) -> None:
    host = (
        "#ifdef OUTER\n#define TPB OUTER\n#else\n#define TPB 48\n#endif\n"
        "void run(float *a, int n) { k<<<1, TPB>>>(a, n, 1.0f); }"
    )
    assert launch(read, host).block == ("48",)


def test_bytes_of_a_type_that_a_template_of_the_host_has(read: Callable[[str], CudaFile]) -> None:
    host = (
        "template <typename T> void run(int n) { T *a; const size_t bytes = n * sizeof(T);"
        " cudaMalloc((void **)&a, bytes); k<<<1, 64>>>((float *)a, n, 1.0f); }"
        " int main() { run<double>(77); }"
    )
    assert launch(read, host.replace("(float *)a", "a")).allocated == {"a": "(n * 8)"}


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("int round = 0; round < rounds; round++", 1),
        ("size_t round = 0; round < rounds; round += 1", 1),
        ("round = 0u; round < 5; ++round", 1),
        ("int round = 0; round < 1; round++", 0),
        ("int round = 0; round < rounds; round += 2", 0),
        ("int round = 3; round < rounds; round++", 3),
    ],
)
def test_rounds_of_a_loop(read: Callable[[str], CudaFile], loop: str, expected: int) -> None:
    host = f"void run(float *a, int rounds) {{ for ({loop}) {{ k<<<4, 64>>>(a, round, 1.5f); }} }}"
    assert launch(read, host).values == {"n": expected, "s": 1.5}


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        ("for (int step = 0; step < STEPS; step++)", 40),
        ("for (int step = 1; step <= 2 * STEPS; ++step)", 80),
        ("for (int step = 0; step < steps; step += 1)", 500),
        ("for (int step = 0; step < argc; step++)", 1),
        ("for (int step = STEPS; step > 0; step--)", 1),
        ("for (int step = 0; step < STEPS; step++) while (more())", 1),
        ("for (int step = 0; step < STEPS; step++) if (step % 10 == 0)", 1),
        ("for (int step = 0; step < STEPS; step++) if (step == argc) break; else", 1),
        ("if (n > 0) for (int step = 0; step < STEPS; step++)", 40),
        ("for (int i = 0; i < 3; i++) for (int step = 0; step < STEPS; step++)", 120),
    ],
)
@pytest.mark.parametrize("inside", ["k<<<4, 64>>>(a, n, 1.5f);", "step(a, n);"])
def test_times_that_loops_of_the_program_launch_it(
    read: Callable[[str], CudaFile], loop: str, inside: str, expected: int
) -> None:
    step = "void step(float *a, int n) { k<<<4, 64>>>(a, n, 1.5f); }" if "step(" in inside else ""
    host = (
        f"#define STEPS 40\n{step}\nint main(int argc, char **argv) {{ float *a; int n = 256;"
        f" int steps = argc > 1 ? atoi(argv[1]) : 500; {loop} {inside} }}"
    )
    assert launch(read, host).times == expected


def test_a_function_that_may_do_nothing_does_not_say_how_often(
    read: Callable[[str], CudaFile],
) -> None:
    host = (
        "void step(float *a, int i) { if (i % 2) k<<<4, 64>>>(a, 256, 1.5f); }"
        "int main() { float *a; for (int i = 0; i < 9; i++) step(a, i); }"
    )
    assert launch(read, host).times == 1


def test_a_function_called_twice_does_not_say_how_often(read: Callable[[str], CudaFile]) -> None:
    host = (
        "void step(float *a) { k<<<4, 64>>>(a, 256, 1.5f); }"
        "int main() { float *a; step(a); for (int i = 0; i < 9; i++) step(a); }"
    )
    assert launch(read, host).times == 1


def test_arguments_say_what_a_template_is_made_with(read: Callable[[str], CudaFile]) -> None:
    code = read(
        "typedef __nv_bfloat16 real;\n"
        "template <typename T> __global__ void k(T *a, const T *b) { }\n"
        "template <typename T> void wrap(T *a, const T *b) { k<<<1, 64>>>(a, b); }\n"
        "void run(real *a, const real *b) { wrap(a, b); }"
    )
    (kernel,) = kernels(code)
    host, types = read_host_code(code), read_element_types([code])
    (use,) = launch_sites(host, kernel, types, KnownNames())
    assert use.types == {"a": "real", "b": "real"}
