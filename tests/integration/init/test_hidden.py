"""Kernels that the default build does not compile get the macros with which they are."""

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


@pytest.mark.parametrize(
    ("opens", "files", "define", "why"),
    [
        ("#ifdef GPU_PART", {}, {"GPU_PART": "1"}, "without it"),
        ("#if LEVEL == 3 && defined(WIDE)", {}, {"LEVEL": "3", "WIDE": "1"}, "without it"),
        ("#ifndef PART\n#elif LEVEL > 4\n#else", {}, {"PART": "1"}, "without it"),
        (
            "#if GOOD_CUDA\n#elif WITH_HIP\n#else\n#error neither\n#endif\n#if 1",
            {},
            {"GOOD_CUDA": "1"},
            "asks for it",
        ),
        (
            "#if VARIANT",
            {"Makefile": "a:\n\tnvcc -DVARIANT=4 k.cu\nb:\n\tnvcc -DVARIANT=5 k.cu\n"},
            {"VARIANT": "4"},
            "Makefile:2",
        ),
        (
            "#ifdef GPU_PART",
            {"Makefile": "FLAGS = -DOTHER\n", "../CMakeLists.txt": "add_definitions(-DGPU_PART=7)"},
            {"GPU_PART": "7"},
            "CMakeLists.txt:1",
        ),
    ],
)
def test_a_kernel_that_no_default_build_compiles(
    opens: str, files: dict[str, str], define: dict[str, str], why: str, tmp_path: Path
) -> None:
    own = {"k.cu": f"{opens}\n{KERNEL}\n#endif\n", "../README": ""}
    source = tree(tmp_path / "p" / "src", own | files)
    lines = said(source, tmp_path / "t")
    assert load_target(tmp_path / "t").build.define == define
    text = "".join(line.strip() for line in lines).replace(" ", "")
    for name, value in define.items():
        assert f"compiledwith-D{name}={value}:" in text
    assert why.replace(" ", "") in text
    assert why in (tmp_path / "t" / "target.toml").read_text()


def test_a_file_that_includes_it_says_the_macro(tmp_path: Path) -> None:
    files = {
        "part.cuh": f"#ifdef GPU_PART\n{KERNEL}\n#endif\n",
        "whole.cu": '#define GPU_PART\n#include "part.cuh"\n',
        "README": "",
    }
    lines = said(tree(tmp_path / "p", files), tmp_path / "t")
    assert any("taken as a part of" in line for line in lines)
    assert load_target(tmp_path / "t").build.define == {}


ASKS = """#if WIDTH == 32
typedef float real;
#elif WIDTH == 64
typedef double real;
#else
#error WIDTH must be 32 or 64
#endif
#ifndef MODE
#error MODE is needed
#endif
"""


def test_what_an_error_asks_for_is_taken_from_the_build_or_its_conditions(tmp_path: Path) -> None:
    files = {
        "part/src/k.cu": f'#include "real.h"\n{KERNEL}\n__device__ real value;\n',
        "part/src/real.h": ASKS,
        "part/src/CMakeLists.txt": "add_library(k k.cu)",
        "part/CMakeLists.txt": "target_compile_definitions(k PUBLIC WIDTH=${WIDTH})",
        "CMakeLists.txt": 'project(p)\nset(WIDTH "64" CACHE STRING "Size of numbers")\n',
    }
    lines = said(tree(tmp_path / "p", files), tmp_path / "t")
    assert load_target(tmp_path / "t").build.define == {"WIDTH": "64", "MODE": "1"}
    text = "".join(line.strip() for line in lines).replace(" ", "")
    assert "compiledwith-DWIDTH=64:" in text
    assert "part/CMakeLists.txt:1" in text
    assert "compiledwith-DMODE=1:real.h:9asksforit" in text


def test_an_error_that_no_macro_ends_is_said(tmp_path: Path) -> None:
    source = tree(tmp_path / "p", {"k.cu": f"#ifdef __GNUC__\n#error never\n#endif\n{KERNEL}"})
    message = refused(tmp_path, str(source))
    assert "its directives cannot be preprocessed" in message
    assert "k.cu:2" in message


@pytest.mark.parametrize(
    ("opens", "hint"),
    [
        ("#if 0", "take it out from there"),
        ("#if SPEED > 70000 && SPEED < 9", "say what its build defines (SPEED)"),
    ],
)
def test_what_nothing_compiles_is_said(opens: str, hint: str, tmp_path: Path) -> None:
    source = tree(tmp_path / "p", {"k.cu": f"{opens}\n{KERNEL}\n#endif\n"})
    message = refused(tmp_path, str(source))
    assert f"scale stands under {opens}" in message
    assert hint in message
    assert "k.cu:3" in message
