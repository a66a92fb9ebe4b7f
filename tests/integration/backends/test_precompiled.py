"""Precompiled headers of the host back end: same code in less time."""

from __future__ import annotations

import inspect
import shutil
import subprocess
from pathlib import Path

import pytest

from gi_cuda.backends.host.build import precompiled
from gi_cuda.backends.host.build.library import INCLUDE, NVCC_MACROS, compile_options, find_compiler
from gi_cuda.backends.host.build.precompiled import headers_first

KERNEL = """#include "gi_cuda_host.hpp"
__device__ int ones(int x) { return __popc(x); }
__global__ void k(int *a) { a[blockIdx.x * blockDim.x + threadIdx.x] += ones(a[0]); }
"""


@pytest.fixture
def cxx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A g++, with a cache that has nothing yet."""
    found = find_compiler()
    if "g++" not in Path(found).name or "clang" in found:
        pytest.skip("only g++ has compiled headers where it looks for headers")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return found


def assembled(
    cxx: str, words: list[str], text: str, tmp_path: Path
) -> subprocess.CompletedProcess[str]:
    source = tmp_path / "k.cpp"
    source.write_text(text)
    command = [cxx, *words, f"-I{INCLUDE}", "-S", "-o", "-", str(source)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_the_code_is_the_same(cxx: str, level: str, tmp_path: Path) -> None:
    words = [*compile_options(cxx), *NVCC_MACROS, level, "-lm", f"-I{tmp_path}", "-DMINE=1"]
    (first,) = headers_first(cxx, words)
    assert first == headers_first(cxx, words[:-2])[0], "where else one looks makes no difference"
    told = assembled(cxx, [first, "-Winvalid-pch", "-Werror", *words], KERNEL, tmp_path)
    assert told.returncode == 0, told.stderr
    assert "ones" in told.stdout
    assert told.stdout == assembled(cxx, words, KERNEL, tmp_path).stdout


def test_headers_are_read_where_a_macro_makes_them_others(cxx: str, tmp_path: Path) -> None:
    words = [*compile_options(cxx), *NVCC_MACROS, "-O1"]
    (first,) = headers_first(cxx, words)
    mixed = [*words, "-D__popc=__clz"]
    assert headers_first(cxx, mixed) == (first,)
    told = assembled(cxx, [first, *mixed], KERNEL, tmp_path)
    assert told.returncode == 0, told.stderr
    assert told.stdout == assembled(cxx, mixed, KERNEL, tmp_path).stdout
    assert told.stdout != assembled(cxx, words, KERNEL, tmp_path).stdout


def test_headers_of_another_version_are_compiled_anew(
    cxx: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though nothing but a comment is another: a source that includes CUDA's header as well has
    them once."""
    headers = shutil.copytree(INCLUDE, tmp_path / "include")
    monkeypatch.setattr(precompiled, "INCLUDE", headers)
    words = (*compile_options(cxx), *NVCC_MACROS, "-O1")
    compiled = inspect.unwrap(precompiled._compiled)
    source = tmp_path / "k.cpp"
    source.write_text(KERNEL.replace("\n", "\n#include <cuda_runtime.h>\n", 1))
    for comment in ("// one\n", "// another\n"):
        with (headers / "gi_cuda_host.hpp").open("a") as header:
            header.write(comment)
        (first,) = compiled(cxx, words)
        command = [cxx, first, *words, f"-I{headers}", "-S", "-o", "-", str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_what_cannot_be_compiled_beforehand_is_not(cxx: str, tmp_path: Path) -> None:
    (first,) = headers_first(cxx, [*compile_options(cxx), "-std=c++17", "-fno-such-option"])
    assert not list(Path(first.removeprefix("-I")).iterdir())


def test_without_a_cache_headers_are_read(
    cxx: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert headers_first(cxx, [*compile_options(cxx), "-O3"]) == ()
