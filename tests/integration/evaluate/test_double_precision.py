"""A source of single precision runs in double precision."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.evaluate.reference.double_precision import in_double_precision
from gi_cuda.spec import find_case, load_case
from gi_cuda.subject import Subject, load_subject
from tests.conftest import TARGETS

PARTS = """
__global__ void columns(const float *a, float *sums, int rows, int width) {
    extern __shared__ float parts[];
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    parts[threadIdx.x] = 0.0f;
    if (j >= width) return;
    for (int i = 0; i < rows; i++) {
        float4 one = make_float4(a[i * width + j], __expf(0.0f), fmaxf(0.0f, -1.0f), sqrtf(1.0f));
        parts[threadIdx.x] += one.x * one.y + __fmul_rn(one.z, one.w);
    }
    sums[j] = parts[threadIdx.x];
}
"""


def columns(folder: Path, text: str) -> Subject:
    """The sums of columns, made by another kernel, with dynamic shared memory."""
    shutil.copytree(TARGETS / "columns", folder)
    file = folder / "target.toml"
    given = file.read_text()
    assert given.count("args = [") == 1
    file.write_text(given.replace("args = [", 'shared = "4 * 1024"\nargs = ['))
    (folder / "kernel.cu").write_text(text)
    return load_subject(folder, "host")


@pytest.mark.parametrize("value", ["parts[threadIdx.x]", "parts[threadIdx.x] + 0.1f"])
def test_sums_are_those_of_double_precision(tmp_path: Path, value: str) -> None:
    """Also where the kernel has vectors, functions and shared memory of its own. What a constant is
    in single precision it is in double."""
    subject = columns(
        tmp_path / "target", PARTS.replace("sums[j] = parts[threadIdx.x]", f"sums[j] = {value}")
    )
    found = in_double_precision(subject, ["train"], "host", tmp_path / "build", 10.0)
    data = load_case(subject.target, find_case(subject.target, "train"))
    a = data.buffers["a"].astype(np.float64).reshape(int(data.scalars["rows"]), -1)
    expected = a.sum(axis=0) + (float(np.float32(0.1)) if "0.1f" in value else 0.0)
    np.testing.assert_allclose(found["train"]["sums"], expected, rtol=1e-13)


@pytest.mark.parametrize("name", ["scale", "aligned", "images", "textures"])
def test_of_other_numbers_nothing_is_known(name: str, tmp_path: Path) -> None:
    subject = load_subject(TARGETS / name, "host")
    cases = [one.name for one in subject.target.cases]
    assert in_double_precision(subject, cases, "host", tmp_path, 10.0) == {}


def test_of_what_does_not_compile_so_nothing_is_known(tmp_path: Path) -> None:
    text = PARTS.replace("sqrtf(1.0f)", "__int_as_float(__float_as_int(sqrtf(1.0f)))")
    text = text.replace("float4 one", "static_assert(sizeof(float) == 4); float4 one")
    subject = columns(tmp_path / "target", text)
    assert in_double_precision(subject, ["train"], "host", tmp_path / "build", 10.0) == {}
