"""Checks of launch arguments against kernel parameters after preprocessing."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.backends.table import open_compiler
from gi_cuda.evaluate.checks.parameters.arguments import read_signatures, wrong_arguments
from gi_cuda.subject import load_subject
from tests.integration.evaluate.conftest import TARGET, Make

HEAD = """
#include <cstdint>
template <typename T> struct Span { T *begin; };
typedef double *doubles;
#define MANY const float *in, float *out
"""
BODY = "{ out[0] = 1; }"
PLAIN = "__global__ void fill(const float *in, float *out, int n)"


def said(make: Make, kernel: str, name: str = "fill") -> list[str]:
    """Return the complaints about a kernel that the target calls by a name."""
    subject = make(HEAD, body=f"{kernel} {BODY}\n")
    file = subject.target.file
    text = file.read_text()
    text = text.replace('["fill"]', f'["{name}"]').replace('kernel = "fill"', f'kernel = "{name}"')
    file.write_text(text)
    subject = load_subject(file.parent, "host")
    signatures = read_signatures(subject, open_compiler(subject, 1))
    return [str(one) for one in wrong_arguments(subject.target, signatures)]


@pytest.mark.parametrize(
    "kernel",
    [
        PLAIN,
        "__global__ void __launch_bounds__(64) fill(MANY, int n)",
        "__global__ void fill(MANY,\n#ifdef WIDE\nlong n\n#else\nint n\n#endif\n)",
        "__global__ void fill(const float *__restrict__ in, float out[], unsigned n)",
        "__global__ void fill(const void *in, unsigned char *out, std::uint32_t n)",
        "__global__ void fill(const doubles in, float *out, Span<float> n)",
        "__global__ void fill(const float4 *in, struct Unknown *out, int n)",
    ],
)
def test_what_a_kernel_takes(make: Make, kernel: str) -> None:
    assert said(make, kernel) == []


@pytest.mark.parametrize(
    ("kernel", "what"),
    [
        (
            "__global__ void fill(const float *in, int n, float *out)",
            "argument 2 is buffer 'out' (float32), the kernel takes 'int n'",
        ),
        (
            "__global__ void fill(int n, const float *in, float *out)",
            "argument 1 is buffer 'in' (float32), the kernel takes 'int n'",
        ),
        (
            "__global__ void fill(const int *in, float *out, int n)",
            "argument 1 is buffer 'in' (float32), the kernel takes 'const int *in'",
        ),
        (
            "__global__ void fill(MANY, const float *n)",
            "argument 3 is scalar 'n' (int32), the kernel takes 'const float *n'",
        ),
        (
            "__global__ void fill(MANY, float n)",
            "argument 3 is scalar 'n' (int32), the kernel takes 'float n'",
        ),
        (
            "__global__ void fill(MANY, size_t n)",
            "argument 3 is scalar 'n' (int32), the kernel takes 'size_t n'",
        ),
        ("__global__ void fill(MANY, int n, int m)", "argument 4 is missing"),
        ("__global__ void fill(MANY)", "argument 3 is 'n', and fill takes 2"),
    ],
)
def test_what_a_kernel_does_not_take(make: Make, tmp_path: Path, kernel: str, what: str) -> None:
    (one,) = said(make, kernel)
    line = TARGET.format(more="", block="64").splitlines().index('args = ["in", "out", "n"]') + 1
    assert one.startswith(f"{tmp_path / 'target.toml'}:{line}: {what}")


def test_an_instance_of_a_template(make: Make) -> None:
    kernel = "template <typename T, int N = 2> __global__ void fill(const T *in, T *out, int n)"
    (one,) = said(make, kernel, "fill<double>")
    assert "argument 1 is buffer 'in' (float32), the kernel takes 'const double *in'" in one
    assert said(make, kernel, "fill<float, 3>") == []
    assert said(make, kernel, "fill<Span<int>>") == []


def test_overloads_are_left_alone(make: Make) -> None:
    both = f"__global__ void fill(int n) {{}}\n{PLAIN}"
    assert said(make, both) == []
