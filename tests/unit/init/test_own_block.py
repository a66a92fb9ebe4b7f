"""Block sizes that a kernel assumes."""

from __future__ import annotations

import pytest

from gi_cuda.init.kernel.own_block import own_block


@pytest.mark.parametrize(
    ("axis", "body", "expected"),
    [
        ("x", "for (int i = threadIdx.x; i < n; i += 256) a[i] = 0;", "256"),
        (
            "x",
            "int t = threadIdx.x;\n for (unsigned int i = t; i < n; i += THREADS) a[i] = 0;",
            "96",
        ),
        ("x", "int t = threadIdx.x; for (int i = t; i < n; i += THREADS / 2) a[i] = 0;", "48"),
        ("x", "for (int i = threadIdx.x; i < n; i += WIDE) a[i] = 0;", "WIDE"),
        ("x", "for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += 640) a[i] = 0;", "64"),
        ("x", "for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] = 0;", None),
        ("x", "for (int i = threadIdx.x; i < 99; i += n) a[i] = 0;", None),
        ("x", "for (int i = threadIdx.x; i < n; i += 4096) a[i] = 0;", None),
        ("x", "for (int i = threadIdx.y; i < n; i += 64) a[i] = 0;", None),
        ("y", "for (int i = threadIdx.y; i < n; i += 64) a[i] = 0;", "64"),
        ("x", "int x = blockIdx.x * THREADS + threadIdx.x; a[x] = 0;", "96"),
        ("x", "int x = THREADS * blockIdx.x + threadIdx.x; a[x] = 0;", "96"),
        ("x", "int row = blockIdx.x; a[row * THREADS + threadIdx.x] = 0;", "96"),
        ("x", "for (int k = 0; k < 3; k += 1) sum += a[threadIdx.x + k];", None),
        ("x", "a[blockIdx.x * blockDim.x + threadIdx.x] = 0;", None),
    ],
)
def test_the_threads_of_a_block(read, axis: str, body: str, expected: str | None) -> None:
    text = f"#define THREADS 96\n#define WIDE 64\n__global__ void k(float *a, int n) {{ {body} }}"
    assert own_block(read(text), body, axis, frozenset(["WIDE", "n"])) == expected
