"""Arrays that are indexed by the numbers in another array."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gi_cuda.grammar.frontends.cuda.declarations.file import CudaFile, kernels
from gi_cuda.init.kernel.places import leads_into


def kernel(read: Callable[[str], CudaFile], body: str) -> CudaFile:
    head = "__global__ void k(const int *p, const float *v, float *out, int i, int n)"
    return read(f"{head} {{ {body} }}\n")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("out[i] = v[p[i]];", "v"),
        ("out[(int)p[i]] = v[i];", "out"),
        ("out[i] = __ldg(&v[p[i]]) + *(v + (p[n]));", "v"),
        ("out[i] = __ldg(v + p[i]);", "v"),
        ("const int j = p[i]; if (j < n) out[i] = v[j];", "v"),
        ("int j = p[i]; out[j] += v[j];", "out"),
        ("int j = p[i]; j++; out[i] = v[j];", None),
        ("int j = p[i]; j += n; out[i] = v[j];", None),
        ("int j = p[i]; if (n) j = i; out[i] = v[j];", None),
        ("int j = p[i] + 1; out[i] = v[j];", None),
        ("out[i] = v[i] + p[i];", None),
        ("float w[4]; out[i] = w[p[i]];", None),
        ("out[i] = p[i];", None),
        ("", None),
    ],
)
def test_places_in_another_array(
    read: Callable[[str], CudaFile], body: str, expected: str | None
) -> None:
    code = kernel(read, body)
    definition = kernels(code)[0].definition
    assert leads_into(code, definition, "p", {"p", "v", "out"}) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int4 q = c[i]; out[i] = v[q.x] + v[q.w];", "v"),
        ("out[i] = v[c[i].y];", "v"),
        ("int4 q = c[i]; out[i] = q.x + q.y;", None),
    ],
)
def test_parts_of_vectors_are_places_in_other_arrays(
    read: Callable[[str], CudaFile], body: str, expected: str | None
) -> None:
    code = read(
        f"__global__ void k(const int4 *c, const float *v, float *out, int i) {{ {body} }}\n"
    )
    definition = kernels(code)[0].definition
    assert leads_into(code, definition, "c", {"c", "v", "out"}) == expected
