"""Ranges of the random numbers that host code passes to a kernel."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gi_cuda.grammar.frontends.cuda.declarations.element_types import read_element_types
from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, kernels
from gi_cuda.init.host.host import KnownNames, read_host_code
from gi_cuda.init.host.launching import launch_sites
from gi_cuda.init.host.value_ranges import Range

Reader = Callable[[str], CudaFile]

KERNEL = """\
#include <cstdlib>
#define LETTERS 26
static const int MOST = 50;
__global__ void k(float *a, int n) { }
void fill_all(float *values, int n) { for (int i = 0; i < n; i++) values[i] = drand48() * 2 - 1; }
void passed_on(float *values, int n) { fill_all(values, n); }
"""
MAIN = """\
int main() {{
    int n = 100;
    float *d, *h = (float *)malloc(n * sizeof(float));
    {statements}
    cudaMalloc(&d, n * sizeof(float));
    cudaMemcpy(d, h, n * sizeof(float), cudaMemcpyHostToDevice);
    k<<<1, 64>>>(d, n);
    cudaMemcpy(h, d, n * sizeof(float), cudaMemcpyDeviceToHost);
    h[0] = 12345;
    free(h);
}}
"""


def drawn(read: Reader, host: str) -> Range | None:
    """Return the range of the data behind a launch's first pointer."""
    code = read(KERNEL + host)
    types = read_element_types([code])
    (use,) = launch_sites(read_host_code(code), kernels(code)[0], types, KnownNames())
    return use.drawn.get("a")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("rand() % 10", Range(0, 9, True)),
        ("'a' + (rand() % LETTERS)", Range(97, 122, True)),
        ("(float)(rand() & 0xFF) / 10.0f", Range(0, 25.5, False)),
        ("(int)(drand48() * MOST) - 5", Range(-5, 45, True)),
        ("rand() / (RAND_MAX / 100)", Range(0, 100, True)),
        ("i % 5", Range(0, 4, True)),
        ("static_cast<float>(std::rand()) / static_cast<float>(RAND_MAX)", Range(0, 1, False)),
        ("cosf(i * 0.1f)", Range(-1, 1, False)),
        ("1.5", Range(1.5, 1.5, False)),
        ("i * 0.5f", None),
        ("rand() % n", None),
        ("other(i)", None),
    ],
)
def test_an_expression_lies_between(read: Reader, value: str, expected: Range | None) -> None:
    loop = f"for (int i = 0; i < n; i++) h[i] = {value};"
    assert drawn(read, MAIN.format(statements=loop)) == expected


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        ("passed_on(h, n);", Range(-1, 1, False)),
        ("for (int i = 0; i < n; i++) *(h + i) = rand() % 3;", Range(0, 2, True)),
        ("memset(h, 0, n * sizeof(float)); h[3] = 8;", Range(0, 8, True)),
        ("for (int i = 0; i < n; i++) h[i] += rand() % 3;", None),
        ("fread(h, 4, n, file); h[0] = 1;", None),
        ("h[0] = 1; printf(h); free(h);", Range(1, 1, True)),
        ("h[0] = 1; unknown(h);", None),
        ("", None),
    ],
)
def test_all_that_sets_it_counts(read: Reader, statements: str, expected: Range | None) -> None:
    assert drawn(read, MAIN.format(statements=statements)) == expected


def test_vectors_and_distributions(read: Reader) -> None:
    host = """\
int main() {
    std::vector<float> h(100);
    std::mt19937 engine(1);
    std::uniform_real_distribution<float> some(-2.0f, 3.0f);
    for (int i = 0; i < 100; ++i) h[i] = some(engine);
    float *d;
    cudaMalloc(&d, 400);
    cudaMemcpy(d, h.data(), 400, cudaMemcpyHostToDevice);
    k<<<1, 64>>>(d, 100);
}
"""
    assert drawn(read, host) == Range(-2, 3, False)


def test_data_are_followed_through_the_function_that_launches(read: Reader) -> None:
    host = """\
void launch(float *d, const float *h, int n) {
    cudaMemcpy(d, h, n * 4, cudaMemcpyHostToDevice);
    k<<<1, 64>>>(d, n);
}
int main() {
    int n = 100;
    int *h = (int *)malloc(n * 4);
    for (int i = 0; i < n; i++) h[i] = rand() % 7;
    float *d;
    cudaMalloc(&d, n * 4);
    launch(d, (float *)h, n);
}
"""
    assert drawn(read, host) == Range(0, 6, True)


def test_managed_memory_is_set_under_the_same_name(read: Reader) -> None:
    host = """\
int main() {
    float *d;
    cudaMallocManaged(&d, 400);
    for (int i = 0; i < 100; i++) d[i] = rand() % 4 + 1;
    k<<<1, 64>>>(d, 100);
}
"""
    assert drawn(read, host) == Range(1, 4, True)


def test_a_list_in_a_declaration_is_not_read(read: Reader) -> None:
    host = (
        "int main() { float *d; int h[MOST] = {-2, 4}; h[3] = 7;\n"
        "cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice); k<<<1, 64>>>(d, 2); }"
    )
    assert drawn(read, host) is None
