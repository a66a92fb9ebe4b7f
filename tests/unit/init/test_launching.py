"""Launches read from host code."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gi_cuda.grammar.frontends.cuda.declarations.element_types import read_element_types
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, kernels
from gi_cuda.init.host.host import KnownNames, read_host_code
from gi_cuda.init.host.launching import launch_sites
from gi_cuda.spec.expression import parse

from .conftest import launch


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        ("(N + 255) / 256", "(n + 255) / 256"),
        ("ceil(N / (float)BLOCK)", "(n + 64 - 1) / 64"),
        ("(int)ceil((double)N / 32)", "(n + 32 - 1) / 32"),
        ("iDivUp(N, threads)", "(n + 128 - 1) / 128"),
        ("std::min(N, 64)", "(n < 64 ? n : 64)"),
        ("N > 5 ? N : 5u", None),
        ("unknown(N)", None),
        ("N / other", None),
        ("ceil(N / 256.0)", "(n + 256 - 1) / 256"),
    ],
)
def test_grids(read: Callable[[str], CudaFile], grid: str, expected: str | None) -> None:
    host = (
        "int rounded(int a, int b) { return (a + b - 1 - (a + b - 1) % BLOCK) / b; }\n"
        "void run(float *a, int N, int other) { const int threads = 2 * BLOCK;"
        f" int blocks = {grid}; k<<<blocks, threads>>>(a, N, 1.5f); }}"
    )
    use = launch(read, host)
    if expected is not None:
        found = [text.replace("(2 * 64)", "128") for text in use.grid or ()]
        assert [text.strip("()") for text in found] == [expected.strip("()")]
    elif "?" not in grid:
        assert use.grid is None
    assert use.values == {"s": 1.5}


@pytest.mark.parametrize(
    "declared",
    [
        "constexpr std::size_t WIDE = 96;",
        "static constexpr std::uint32_t WIDE{96};",
        "const unsigned long long WIDE = {96};",
        "constexpr auto WIDE = 96;",
        "typedef unsigned u32; const u32 WIDE = 96;",
        "const int OTHER = 3, WIDE = OTHER * 32;",
    ],
)
def test_constants_of_any_whole_type(read: Callable[[str], CudaFile], declared: str) -> None:
    host = f"{declared} void run(float *a, int N) {{ k<<<N / WIDE, WIDE>>>(a, N, 0); }}"
    use = launch(read, host)
    assert use.block is not None
    assert [parse(text).evaluate({}) for text in use.block] == [96]


def test_three_dimensions_of_locals_and_constructors(read: Callable[[str], CudaFile]) -> None:
    host = (
        "void run(float *a, int N) { dim3 block(BLOCK, 2); dim3 grid = dim3(N / block.x, block.z);"
        " k<<<grid, block, block.y * sizeof(float)>>>(a, N, 0); }"
    )
    use = launch(read, host, "BLOCK")
    assert use.block == ("BLOCK", "2")
    assert use.grid == ("n / BLOCK", "1")
    assert use.shared == "2 * 4"


def test_what_is_set_twice_is_not_known(read: Callable[[str], CudaFile]) -> None:
    host = "void run(float *a, int N) { int b = 32; if (N > 9) b = 64; k<<<1, b>>>(a, N, 0); }"
    assert launch(read, host).block is None
    host = host.replace("if (N > 9) b", "b")
    assert launch(read, host).block == ("64",)
    assert launch(read, host.replace("b = 64", "b = b + unknown(N)")).block is None


def test_what_is_set_in_a_chain_is_known(read: Callable[[str], CudaFile]) -> None:
    use = launch(
        read,
        "int main() { float *a; int m, n; float s; m = n = 2048; cudaMalloc(&a, m * sizeof(float));"
        " k<<<m / 64, 64>>>(a, n, s); }",
    )
    assert (use.grid, use.values) == (("2048 / 64",), {"n": 2048})


def test_allocations_types_and_template_arguments(read: Callable[[str], CudaFile]) -> None:
    code = read(
        "template <typename T, int R, int B> __global__ void k(T *a, int n) { }\n"
        "const int RADIUS = 3;\n"
        "int main() { int N = 1 << 10; size_t bytes = N * sizeof(double); double *d;"
        " CHECK(cudaMalloc((void **)&d, bytes)); k<double, RADIUS, 2 * 8><<<1, 1>>>(d, N); }"
    )
    (use,) = launch_sites(
        read_host_code(code), kernels(code)[0], read_element_types([code]), KnownNames()
    )
    assert use.templates == ("double", "3", "2 * 8")
    assert use.types == {"a": "double", "n": "int"}
    assert use.allocated == {"a": "(n * 8)"}
    assert use.values == {"n": 1024}


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        ("2 * static_cast<int>(N + 1)", "2 * (n + 1)"),
        ("4 * (int)(N - 1)", "4 * (n - 1)"),
        ("N / iDivUp(N, 8)", "n / ((n + 8 - 1) / 8)"),
        ("(N + WIDE / 2 - 1) / (WIDE / 2)", "(n + 512 / 2 - 1) / (512 / 2)"),
        ("min(N & 3, 2)", "(n & 3) < 2 ? (n & 3) : 2"),
    ],
)
def test_what_is_calculated_first_stays_in_brackets(
    read: Callable[[str], CudaFile], grid: str, expected: str
) -> None:
    host = "const int WIDE = 512;\n"
    host += f"void run(float *a, int N) {{ k<<<{grid}, 32>>>(a, N, 1.0f); }}"
    assert launch(read, host).grid == (expected,)


def test_a_member_or_a_method_that_is_passed_is_the_scalar(read: Callable[[str], CudaFile]) -> None:
    host = (
        "void run(M m, std::vector<float> &v, float *a) {"
        " int blocks = (m.n + 63) / 64; k<<<blocks, 64>>>(a, m.n, 1.0f); }"
    )
    assert launch(read, host).grid == ("(n + 63) / 64",)
    host = "void run(V v, float *a) { k<<<v.size() / 64, 64>>>(a, v.size(), 1.0f); }"
    assert launch(read, host).grid == ("n / 64",)


def test_sizes_of_what_a_pointer_points_to(read: Callable[[str], CudaFile]) -> None:
    host = (
        "void run(int N) { float *a; double *b; cudaMalloc(&a, N * sizeof *a);"
        " cudaMalloc(&b, N * sizeof(b[0])); k<<<1, 1>>>(a, N, 1.0f); }"
    )
    assert launch(read, host).allocated == {"a": "n * 4"}
    # The size of the pointer itself is a mistake that nobody should build on.
    assert launch(read, host.replace("*a);", "a);")).allocated == {}


def test_how_much_only_the_host_code_knows(read: Callable[[str], CudaFile]) -> None:
    code = read(
        "__global__ void k(float *a) { }\n"
        "int main(int argc, char **argv) { int n = argc > 1 ? atoi(argv[1]) : 4096; float *a;"
        " int threads = atoi(argv[2]); cudaMalloc(&a, n * sizeof(float));"
        " k<<<n / 64, threads>>>(a); }"
    )
    types, kernel = read_element_types([code]), kernels(code)[0]
    (use,) = launch_sites(read_host_code(code), kernel, types, KnownNames(own=True))
    assert (use.grid, use.block, use.allocated) == (("n / 64",), None, {"a": "n * 4"})
    (use,) = launch_sites(read_host_code(code), kernel, types, KnownNames())
    assert use.grid is None


@pytest.mark.parametrize(
    ("host", "grid", "block"),
    [
        ("enum { A = 3, TPB };", "n / TPB", "TPB"),
        ("struct Config { static constexpr int TPB = 96; };", "n / Config::TPB", "Config::TPB"),
        ("namespace config { const int TPB = 3 << 5; }", "n / config::TPB", "config::TPB"),
    ],
)
def test_constants_wherever_they_stand(
    read: Callable[[str], CudaFile], host: str, grid: str, block: str
) -> None:
    host += f"void run(float *a, int n) {{ k<<<{grid}, {block}>>>(a, n, 1.0f); }}"
    use = launch(read, host)
    assert use.block is not None
    assert use.block[0].strip("()") in ("4", "96", "3 << 5")
    assert use.grid is not None


def test_a_dim3_that_is_set_by_parts_or_with_braces(read: Callable[[str], CudaFile]) -> None:
    host = (
        "void run(float *a, int n) { dim3 block, grid = {1, 7}; block.x = BLOCK; block.y = 4;"
        " grid.x = n / block.x; k<<<grid, block>>>(a, n, 1.0f); }"
    )
    use = launch(read, host)
    assert (use.grid, use.block) == (("n / 64", "7"), ("64", "4"))
    # A part that nobody can tell is not what it was at first.
    host = host.replace("dim3 block, grid = {1, 7}", "dim3 block(8, 8), grid(1, 1, 1)")
    assert launch(read, host).block == ("64", "4")
    assert launch(read, host.replace("n / block.x", "unknown(n)")).grid is None
    host = "void run(float *a, int n) { k<<<dim3{2, 3}, dim3(BLOCK)>>>(a, n, 1.0f); }"
    assert launch(read, host).grid == ("2", "3")


def test_what_only_a_run_tells_keeps_its_name_where_that_is_asked_for(
    read: Callable[[str], CudaFile],
) -> None:
    host = (
        "void run(float *a, int n, char **v) { int t = atoi(v[0]), b = 0, c = 32;"
        " if (n > 9) c = 64; occupancy(&b); k<<<b, dim3(t, c)>>>(a, n, 1.0f); }"
    )
    use = launch(read, host)
    assert (use.grid, use.block) == (None, None)
    assert use.loose == (("b",), ("t", "32"), "0")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("int rows = atoi(v[1]); const int N = rows;", ("(n + 63) / 64", "2")),
        ("int rows = atoi(v[1]); int m = rows; size_t N = (size_t)m;", ("(n + 63) / 64", "2")),
        ("int rows = atoi(v[1]), N = rows + 1;", None),
    ],
)
def test_what_an_argument_is_set_to_is_the_scalar(
    read: Callable[[str], CudaFile], text: str, expected: tuple[str, ...] | None
) -> None:
    host = f"void run(float *a, char **v) {{ {text} k<<<dim3((rows + 63) / 64, 2), 64>>>(a, N); }}"
    assert launch(read, host).grid == expected


def test_types_that_a_function_has_names_for(read: Callable[[str], CudaFile]) -> None:
    code = read(
        "template <typename T, typename A, typename V> __global__ void k(T *a, V v, int n) { }\n"
        "template <typename scalar> void run(scalar *a, int n) {"
        " using wide = double; typedef std::pair<wide, scalar> both; both v;"
        " [&] { k<scalar, both, wide><<<1, 64>>>(a, v, n); }(); }\n"
        "void main() { run<half>(0, 1); }"
    )
    types = read_element_types([code])
    (use,) = launch_sites(read_host_code(code), kernels(code)[0], types, KnownNames())
    assert use.templates == ("half", "std::pair<double, half>", "double")
    assert use.types["v"] == "std::pair<double, half>"


@pytest.mark.parametrize(("kind", "expected"), [("int", {"n": "(s / 2) + 1"}), ("float", {})])
def test_only_whole_numbers_are_what_others_are_computed_from(
    read: Callable[[str], CudaFile], kind: str, expected: dict[str, str]
) -> None:
    code = read(
        f"__global__ void k({kind} s, int n) {{ }}\n"
        f"void run({kind} S) {{ int N = (int)(S / 2) + 1; k<<<1, 64>>>(S, N); }}"
    )
    types = read_element_types([code])
    (use,) = launch_sites(read_host_code(code), kernels(code)[0], types, KnownNames())
    assert use.computed == expected


def test_products_in_a_dim3_that_reads_like_a_prototype(read: Callable[[str], CudaFile]) -> None:
    host = (
        "void run(float *a) { const int rows = 4; const int each = 16, more = 2;"
        " dim3 grid(each * rows, more); dim3 block(each, rows * more); rows_of(each);"
        " k<<<grid, block>>>(a, rows, 1.0f); }"
    )
    use = launch(read, host)
    assert use.grid == ("16 * n", "2")
    assert use.block == ("16", "n * 2")
    assert use.values == {"n": 4, "s": 1.0}
    assert launch(read, host.replace("each * rows", "each & rows")).grid is None


def test_a_grid_that_the_kernel_gets_is_what_it_gets(read: Callable[[str], CudaFile]) -> None:
    run = "void run(float *a, int n) { k<<<n, 32>>>(a, n, 1.5f); }\n"
    assert launch(read, run + "int main() { float *a; run(a, 100); }").grid == ("n",)
