"""Options of nvcc translated for clang."""

from __future__ import annotations

import pytest

from gi_cuda.backends.cuda.llvm.clang import clang_options


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("-std=c++17", "-O3", "-Iinclude", "-DA=1"), ["-std=c++17", "-Iinclude", "-DA=1"]),
        (("-include", "a.h", "-lineinfo"), ["-include", "a.h"]),
        (("-fmad=false", "-maxrregcount=32"), ["-ffp-contract=off"]),
        (("--ftz=true",), ["-fgpu-flush-denormals-to-zero"]),
    ],
)
def test_only_what_is_read_and_how_it_is_rounded(options: tuple[str, ...], told: list[str]) -> None:
    assert list(clang_options(options)) == told
