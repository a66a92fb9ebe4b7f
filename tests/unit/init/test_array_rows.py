"""Rows of arrays: how long they are, how many, and how full."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gi_cuda.grammar.frontends.cuda.file import CudaFile, kernels
from gi_cuda.init.kernel.array_rows import counted_rows, filled_rows, is_row_length


def kernel(read: Callable[[str], CudaFile], body: str) -> CudaFile:
    head = "__global__ void k(const int *p, const float *v, float *out, int i, int n)"
    return read(f"{head} {{ {body} }}\n")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("out[i] = v[i * n + threadIdx.x];", True),
        ("out[i] = v[threadIdx.x + (i + 1) * n];", True),
        ("out[i] = v[(blockIdx.x * n + i) * 4 + 1];", True),
        ("const float *row = v + i * n; out[i] = row[0];", True),
        ("out[i] = v[2 * n + i];", True),
        ("out[i] = v[2 * n + 1];", False),
        ("out[i] = v[1 + n * 2];", False),
        ("out[i] = v[i * 4 + n];", False),
        ("out[i * n] = v[i];", False),
        ("out[i] = i * n + 3;", False),
    ],
)
def test_lengths_of_rows(read: Callable[[str], CudaFile], body: str, expected: bool) -> None:
    code = kernel(read, body)
    assert is_row_length(code, kernels(code)[0].definition, "n", {"p", "v", "out"}) is expected


@pytest.mark.parametrize(
    ("body", "arrays", "bounds"),
    [
        ("for (int k = 0; k < p[i]; ++k) out[i] += v[k * n + i];", "v", ""),
        (
            "if (i >= n) return; int m = p[i]; for (int k = 0; k < m; k++) out[i] += v[i + n * k];",
            "v",
            "n",
        ),
        ("for (int k = 1; k < p[i]; ++k) { int at = i + n * k; out[at] = v[at]; }", "v out", ""),
        ("int m = p[i]; for (int k = 0; k < m; ++k) out[i] += v[i * n + k];", None, ""),
        ("int m = p[i]; for (int k = 0; k < m; ++k) out[i] += v[k];", None, ""),
        ("for (int k = n; k < p[i]; ++k) out[i] += v[k * n + i];", None, ""),
        ("for (int k = 0; k < n; ++k) out[i] += v[k * n + i] * p[i];", None, ""),
        ("int m = p[i] + 1; for (int k = 0; k < m; ++k) out[i] += v[k * n + i];", None, ""),
        ("for (int k = 0; k < p[i]; ++k) out[i] += k * n + i;", None, ""),
        ("", None, ""),
    ],
)
def test_how_many_rows_there_are_of_each(
    read: Callable[[str], CudaFile], body: str, arrays: str | None, bounds: str
) -> None:
    code = kernel(read, body)
    found = counted_rows(code, kernels(code)[0].definition, "p")
    if arrays is None:
        assert found is None
        return
    assert found is not None
    assert (found.counts, found.length) == ("p", "n")
    assert found.arrays == set(arrays.split())
    assert found.bounds == set(bounds.split())


@pytest.mark.parametrize(
    ("body", "length"),
    [
        ("for (int k = 0; k < p[i]; ++k) out[i] += v[i * n + k];", "n"),
        ("int m = p[i]; for (int k = 0; k < m; ++k) { int at = k + 32 * i; out[at] = 1; }", "32"),
        ("for (int k = 0; k < p[i]; ++k) out[i] += v[k * n + i];", None),
        ("for (int k = 0; k < p[i]; ++k) out[i] += v[n * 4 + k];", None),
        ("for (int k = 0; k < p[i]; ++k) out[i] += i * n + k;", None),
        ("for (int k = 0; k < n; ++k) out[i] += v[i * n + k] * p[i];", None),
        ("", None),
    ],
)
def test_how_much_of_its_row_each_has(
    read: Callable[[str], CudaFile], body: str, length: str | None
) -> None:
    code = kernel(read, body)
    assert filled_rows(code, kernels(code)[0].definition, "p") == length
