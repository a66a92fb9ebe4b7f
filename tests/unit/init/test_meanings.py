"""Meanings of integers in an array: offsets of rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, kernels
from gi_cuda.init.kernel.meanings import are_offsets

HELPERS = """
__device__ float row(const int *from, const float *v, int r) {
  float s = 0;
  for (int j = from[r]; j < from[r + 1]; ++j) s += v[j];
  return s;
}
__device__ int first(const int *of) { return of[0]; }
"""


def kernel(read: Callable[[str], CudaFile], body: str) -> CudaFile:
    head = "__global__ void k(const int *p, const float *v, float *out, int i, int n)"
    return read(f"{HELPERS}{head} {{ {body} }}\n")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for (int j = p[i]; j < p[i + 1]; j++) out[i] += v[j];", True),
        ("int b = p[i], e = p[1 + i]; for (int j = b + 2; j < e; j += 32) out[i] += v[j];", True),
        ("int b = p[i]; int m = p[i+1] - b; for (int j = 0; j < m; j++) out[i] += v[b + j];", True),
        ("out[i] = row(p, v, i);", True),
        ("out[i] = p[i + 1] - p[i];", False),
        ("int d = p[i + 1] - p[i]; for (int j = 0; j < 3; j++) out[i + j] = d;", False),
        ("for (int j = p[i]; j < p[n]; j++) out[i] += v[j];", False),
        ("for (int j = 0; j < p[i]; j++) out[i] += v[p[i + 1]];", False),
        ("out[i] = first(p);", False),
        ("", False),
    ],
)
def test_begins_and_ends(read: Callable[[str], CudaFile], body: str, expected: bool) -> None:
    code = kernel(read, body)
    assert are_offsets(code, kernels(code)[0].definition, "p") is expected
