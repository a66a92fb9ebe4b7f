"""Launches read from host code."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gi_cuda.scaffold.code import Code, kernels
from gi_cuda.scaffold.elements import read_types
from gi_cuda.scaffold.launching import Use, uses

KERNEL = "#define BLOCK 64\n__global__ void k(float *a, int n, float s) { }\n"


def launch(read: Callable[[str], Code], host: str, kept: str = "") -> Use:
    code = read(KERNEL + host)
    types = read_types([code])
    (use,) = uses([code], kernels(code)[0], types, frozenset(kept.split()))
    return use


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        ("(N + 255) / 256", "(n + 255) / 256"),
        ("ceil(N / (float)BLOCK)", "(n + 64 - 1) / 64"),
        ("(int)ceil((double)N / 32)", "(n + 32 - 1) / 32"),
        ("ceil(N * 1.0 / threads)", "(n + 128 - 1) / 128"),
        ("iDivUp(N, threads)", "(n + 128 - 1) / 128"),
        ("std::min(N, 64)", "(n < 64 ? n : 64)"),
        ("N > 5 ? N : 5u", None),
        ("unknown(N)", None),
        ("N / other", None),
    ],
)
def test_grids(read: Callable[[str], Code], grid: str, expected: str | None) -> None:
    host = (
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


def test_three_dimensions_of_locals_and_constructors(read: Callable[[str], Code]) -> None:
    host = (
        "void run(float *a, int N) { dim3 block(BLOCK, 2); dim3 grid = dim3(N / block.x, block.z);"
        " k<<<grid, block, block.y * sizeof(float)>>>(a, N, 0); }"
    )
    use = launch(read, host, "BLOCK")
    assert use.block == ("BLOCK", "2")
    assert use.grid == ("n / BLOCK", "1")
    assert use.shared == "2 * 4"


def test_what_is_set_twice_is_not_known(read: Callable[[str], Code]) -> None:
    host = "void run(float *a, int N) { int b = 32; if (N > 9) b = 64; k<<<1, b>>>(a, N, 0); }"
    assert launch(read, host).block is None


def test_allocations_types_and_template_arguments(read: Callable[[str], Code]) -> None:
    code = read(
        "template <typename T, int R, int B> __global__ void k(T *a, int n) { }\n"
        "const int RADIUS = 3;\n"
        "int main() { int N = 1 << 10; size_t bytes = N * sizeof(double); double *d;"
        " CHECK(cudaMalloc((void **)&d, bytes)); k<double, RADIUS, 2 * 8><<<1, 1>>>(d, N); }"
    )
    (use,) = uses([code], kernels(code)[0], read_types([code]), frozenset())
    assert use.templates == ("double", "3", "2 * 8")
    assert use.types == {"a": "double", "n": "int"}
    assert use.allocated == {"a": "(n * 8)"}
    assert use.values == {"n": 1024}
