"""What whole numbers in an array mean to a kernel."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gi_cuda.grammar.frontends.cuda.file import CudaFile, kernels
from gi_cuda.init.array_rows import counted_rows, filled_rows, is_row_length
from gi_cuda.init.meanings import are_flags, are_offsets
from gi_cuda.init.places import Led, Own, leads_into

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
        ("for (int j = p[i-1]; j < p[i]; j++) out[i] += v[j];", True),
        ("int b = p[i], e = p[1 + i]; for (int j = b + 2; j < e; j += 32) out[i] += v[j];", True),
        ("int b = __ldg(p + i), e = __ldg(&p[i + 1]); while (b < e) out[i] += v[b++];", True),
        ("int m = p[i+1] - p[i]; const float *w = v + p[i]; if (n < m) out[i] = w[n];", True),
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


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if (p[i]) return; out[i] = 1;", True),
        ("if (!p[i] && n > i || p[n] != 0) out[i] = v[i];", True),
        ("out[i] = p[i] == 1 ? v[i] : 0;", True),
        ("while (0 == *(p + i)) out[i] = 1;", True),
        ("if (p[i] == 3) out[i] = 1;", False),
        ("if (p[i]) out[i] = p[i];", False),
        ("if (p[i]) out[i] = first(p);", False),
        ("out[i] = p[i] > 0;", False),
        ("", False),
    ],
)
def test_yes_or_no(read: Callable[[str], CudaFile], body: str, expected: bool) -> None:
    code = kernel(read, body)
    assert are_flags(code, kernels(code)[0].definition, "p") is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("out[i] = v[p[i]];", Led("v", False)),
        ("out[(int)p[i]] = v[i];", Led("out", True)),
        ("out[i] = __ldg(&v[p[i]]) + *(v + (p[n]));", Led("v", False)),
        ("out[i] = __ldg(v + p[i]);", Led("v", False)),
        ("const int j = p[i]; if (j < n) out[i] = v[j];", Led("v", False)),
        ("int j = p[i]; out[j] += v[j];", Led("out", True)),
        ("int j; j = __ldg(&p[i]); atomicAdd(&out[j], 1.0f);", Led("out", False)),
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
    read: Callable[[str], CudaFile], body: str, expected: Led | None
) -> None:
    code = kernel(read, body)
    definition = kernels(code)[0].definition
    assert leads_into(code, definition, "p", {"p", "v", "out"}) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int4 q = c[i]; out[i] = v[q.x] + v[q.w];", Led("v", False)),
        ("out[i] = v[c[i].y];", Led("v", False)),
        ("int4 q = __ldg(c + i); out[i] = __ldg(v + q.x);", Led("v", False)),
        ("int4 q = c[i]; out[i] = q.x + q.y;", None),
    ],
)
def test_parts_of_vectors_are_places_in_other_arrays(
    read: Callable[[str], CudaFile], body: str, expected: Led | None
) -> None:
    code = read(
        f"__global__ void k(const int4 *c, const float *v, float *out, int i) {{ {body} }}\n"
    )
    definition = kernels(code)[0].definition
    assert leads_into(code, definition, "c", {"c", "v", "out"}) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("out[i] = v[i * n + p[i]];", Led("v", False, ("n", "i"))),
        ("int at = p[i]; out[i] = v[at + n * i];", Led("v", False, ("i", "n"))),
        ("for (int j = 0; j < n; ++j) { const int c = p[j]; out[i * n + c] = v[j]; }", "out"),
        ("out[i] = v[(i + 1) * n + (p[i])];", Led("v", False, ("n",))),
        ("int at = p[i] + i * n; float x = v[at]; out[i] = x;", Led("v", False, ("n", "i"))),
        ("int at = p[i] + i * n; out[at] = v[at];", "out"),
        ("int at = p[i] + i * n; at++; out[i] = v[at];", None),
        ("out[i] = v[i + p[i]];", None),
        ("out[i] = i * n + p[i];", None),
    ],
)
def test_places_in_rows(
    read: Callable[[str], CudaFile], body: str, expected: Led | str | None
) -> None:
    code = kernel(read, body)
    found = leads_into(code, kernels(code)[0].definition, "p", {"p", "v", "out"})
    assert found == (Led("out", True, ("n", "i")) if expected == "out" else expected)


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


@pytest.mark.parametrize(
    ("body", "others"),
    [
        ("int j = p[i]; out[i] = v[j] - v[i];", Own()),
        ("int j = p[n * k + i]; out[i] += v[j] - v[i];", Own("%", ("k", "n"))),
        ("int at = i * 8 + k; int j = p[at]; out[i] += v[j] - v[i];", Own("//", ("8",))),
        ("int j = p[n * i + k]; out[i] += v[j] - v[i];", Own("//", ("n",))),
        ("int j = p[i * 8 + k]; if (j != i) out[i] += v[j] - v[i];", None),
        ("int j = p[i * 8 + k]; out[i] += v[j];", None),
        ("int j = p[i * 8 + k]; out[i] += v[j] - v[0];", None),
        ("int j = p[k]; out[i] += v[j] - v[i];", None),
    ],
)
def test_items_that_find_others(
    read: Callable[[str], CudaFile], body: str, others: Own | None
) -> None:
    """A distance of an item to itself is 0, by which most kernels divide."""
    code = kernel(read, f"int k = threadIdx.x; {body}")
    found = leads_into(code, kernels(code)[0].definition, "p", {"p", "v", "out"})
    assert found == Led("v", False, (), others)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int j = p[i]; out[i] = v[3 * j + 1];", Led("v", False, parts=3)),
        ("out[i] = v[p[i] * 4];", Led("v", False, parts=4)),
        (
            "int j = p[n * k + i]; out[i] = v[3 * j] - v[3 * i];",
            Led("v", False, (), Own("%", ("k", "n")), 3),
        ),
        (
            "int j = p[i * n + k]; const float *w = v + PARTS * j; out[i] = w[0] - v[PARTS * i];",
            Led("v", False, (), Own("//", ("n",)), 2),
        ),
        ("int j = p[i]; out[j * 3 + k] = v[i];", Led("out", True, parts=3)),
        ("int j = p[i]; out[i] = v[n * j];", None),
        ("int j = p[i]; out[i] = 3 * j + 1;", None),
        ("int j = p[i]; out[i] = v[3 * i + k];", None),
    ],
)
def test_items_of_several_numbers(
    read: Callable[[str], CudaFile], body: str, expected: Led | None
) -> None:
    code = kernel(read, f"\n#define PARTS 2\nint k = threadIdx.x; {body}")
    assert leads_into(code, kernels(code)[0].definition, "p", {"p", "v", "out"}) == expected
