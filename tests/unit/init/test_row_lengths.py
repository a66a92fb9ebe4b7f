"""Numbers that are row lengths of arrays."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, kernels
from gi_cuda.init.kernel.indexing import is_row_length


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
        ("out[i] = v[i * 4 + n];", False),
        ("out[i * n] = v[i];", False),
        ("out[i] = i * n + 3;", False),
    ],
)
def test_lengths_of_rows(read: Callable[[str], CudaFile], body: str, expected: bool) -> None:
    code = kernel(read, body)
    assert is_row_length(code, kernels(code)[0].definition, "n", {"p", "v", "out"}) is expected
