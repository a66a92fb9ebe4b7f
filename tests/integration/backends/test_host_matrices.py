"""Products of matrices by warps (CUDA's ``<mma.h>``) on the host, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.integration.backends.orders import pytest_generate_tests as pytest_generate_tests

RNG = np.random.default_rng(31)

HEADERS = """
#include <mma.h>
#include <cuda_fp16.h>
#include <cuda_bf16.h>
using namespace nvcuda;
"""
KERNEL = """
__global__ void k(const ELEMENT *a, const ELEMENT *b, const SUM *c, SUM *d) {
  wmma::fragment<wmma::matrix_a, M, N, K, KIND, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, M, N, K, KIND, wmma::LAYOUT> right;
  wmma::fragment<wmma::accumulator, M, N, K, SUM> sum, added;
  wmma::fill_fragment(sum, 0);
  wmma::load_matrix_sync(added, c + threadIdx.y * M * N, N, wmma::mem_row_major);
  for (int at = 0; at < 2 * K; at += K) {
    wmma::load_matrix_sync(left, a + at, 2 * K);
    wmma::load_matrix_sync(right, b + at * STEP, LEADING);
    wmma::mma_sync(sum, left, right, sum);
  }
  for (int i = 0; i < sum.num_elements; i++) sum.x[i] = sum.x[i] + added.x[i];
  wmma::store_matrix_sync(d + threadIdx.y * M * N, sum, M, wmma::mem_col_major);
}
"""


@pytest.mark.parametrize(
    ("element", "kind", "total", "shape"),
    [
        ("half", "half", "float", (16, 16, 16)),
        ("half", "half", "half", (32, 8, 16)),
        ("__nv_bfloat16", "__nv_bfloat16", "float", (8, 32, 16)),
        ("float", "wmma::precision::tf32", "float", (16, 16, 8)),
        ("double", "double", "double", (8, 8, 4)),
        ("signed char", "signed char", "int", (16, 16, 16)),
        ("unsigned char", "unsigned char", "int", (8, 32, 16)),
    ],
)
@pytest.mark.parametrize("layout", ["row_major", "col_major"])
def test_two_warps_multiply(host, element, kind, total, shape, layout):
    m, n, k = shape
    columns = layout == "col_major"
    words = {"ELEMENT": element, "KIND": kind, "SUM": total, "LAYOUT": layout}
    words |= {"STEP": "1" if columns else "N", "LEADING": f"{2 * k if columns else n}"}
    defines = "".join(f"#define {name} {value}\n" for name, value in zip("MNK", shape, strict=True))
    defines += "".join(f"#define {name} {value}\n" for name, value in words.items())
    # Small whole numbers are exact in every type.
    a = RNG.integers(0 if "unsigned" in element else -4, 5, (m, 2 * k))
    b = RNG.integers(0 if "unsigned" in element else -4, 5, (2 * k, n))
    c = RNG.integers(0, 50, (2, m, n))
    given = {"a": stored(a, element), "b": stored(b.T if columns else b, element)}
    given |= {"c": stored(c, total), "d": stored(np.zeros_like(c), total)}
    arguments = {name: np.ascontiguousarray(value).reshape(-1) for name, value in given.items()}
    out = host.run(HEADERS + defines + KERNEL, arguments, (1,), (32, 2)).outputs["d"]
    expected = stored((a @ b + c).transpose(0, 2, 1), total)
    np.testing.assert_array_equal(out, np.ascontiguousarray(expected).reshape(-1))


def stored(values, element):
    """Whole numbers as a type keeps them; bfloat16 as its bits."""
    if element == "__nv_bfloat16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    names = {"half": "f2", "float": "f4", "double": "f8", "int": "i4"}
    return values.astype(names.get(element, "u1" if "unsigned" in element else "i1"))


def test_of_a_float_a_product_takes_what_tf32_keeps(host):
    text = """
    #include <mma.h>
    using namespace nvcuda;
    __global__ void k(const float *in, float *out, float *rounded) {
      wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> left;
      wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> one;
      wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
      wmma::load_matrix_sync(left, in, 8);
      wmma::load_matrix_sync(one, in + 128, 16);
      wmma::fill_fragment(sum, 0.0f);
      wmma::mma_sync(sum, left, one, sum);
      wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
      for (int i = threadIdx.x; i < 128; i += 32) rounded[i] = wmma::__float_to_tf32(in[i]);
    }"""
    values = RNG.standard_normal((16, 8)).astype(np.float32)
    given = np.concatenate([values.reshape(-1), np.eye(8, 16, dtype=np.float32).reshape(-1)])
    arguments = {"in": given, "out": np.zeros(256, "f4"), "rounded": np.zeros(128, "f4")}
    outputs = host.run(text, arguments, (1,), (32,)).outputs
    bits = values.view(np.uint32)
    cut = (bits & 0xFFFFE000).view(np.float32)
    near = ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    np.testing.assert_array_equal(outputs["out"].reshape(16, 16)[:, :8], cut)
    np.testing.assert_array_equal(outputs["rounded"], near.reshape(-1))
