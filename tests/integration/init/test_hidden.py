"""Kernels that the default build does not compile."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.spec import load_target
from tests.integration.init.proposing import refused, said, tree

KERNEL = """
__global__ void scale(float *a, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] = 2 * a[i];
}
"""


def test_a_file_that_includes_it_says_the_macro(tmp_path: Path) -> None:
    files = {
        "part.cuh": f"#ifdef GPU_PART\n{KERNEL}\n#endif\n",
        "whole.cu": '#define GPU_PART\n#include "part.cuh"\n',
        "README": "",
    }
    lines = said(tree(tmp_path / "p", files), tmp_path / "t")
    assert any("taken as a part of" in line for line in lines)
    assert load_target(tmp_path / "t").build.define == {}


def test_an_error_of_the_source_is_said(tmp_path: Path) -> None:
    source = tree(tmp_path / "p", {"k.cu": f"#ifdef __GNUC__\n#error never\n#endif\n{KERNEL}"})
    message = refused(tmp_path, str(source))
    assert "its directives cannot be preprocessed" in message
    assert "k.cu:2" in message


@pytest.mark.parametrize(
    ("opens", "hint"),
    [
        ("#if 0", "take it out from there"),
        ("#ifdef GPU_PART", "say what its build defines (GPU_PART): -D NAME"),
        ("#if SPEED > 70000 && SPEED < 9", "say what its build defines (SPEED)"),
    ],
)
def test_what_nothing_compiles_is_said(opens: str, hint: str, tmp_path: Path) -> None:
    source = tree(tmp_path / "p", {"k.cu": f"{opens}\n{KERNEL}\n#endif\n"})
    message = refused(tmp_path, str(source))
    assert f"scale stands under {opens}" in message
    assert hint in message
    assert "k.cu:3" in message


def test_a_macro_that_the_kernel_lacks_is_found_under_its_condition(tmp_path: Path) -> None:
    files = {
        "k.cu": '#include "missing.h"\n#include "guard.h"\n' + KERNEL.replace("2 *", "TWICE *"),
        "guard.h": "#ifdef USE_GPU\n#define TWICE 2\n#endif\n",
    }
    message = refused(tmp_path, str(tree(tmp_path / "p", files)))
    assert (
        "guard.h:2: TWICE, which the kernel needs, is defined only under #ifdef USE_GPU" in message
    )
    assert "say what its build defines (USE_GPU): -D NAME" in message
