"""Code keys of host variants, from object files that the compiler really wrote."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from gi_cuda.backends.compile.elf import Elf
from gi_cuda.backends.host.build.compiler import HostCompiler
from gi_cuda.backends.host.build.library import find_compiler
from gi_cuda.backends.host.build.prepare import references
from gi_cuda.backends.protocol.variants import Binary, Phenotype
from gi_cuda.backends.table import open_backend
from gi_cuda.evaluate.candidates import build_candidates, unmodified
from gi_cuda.subject import load_subject
from tests.conftest import TARGETS

PLAIN = """
__device__ int helper(int x) { return x % 7 + (x > 3 ? x / 5 : x * x); }
__global__ void k(int *out, int n) {
  if (threadIdx.x < n) out[threadIdx.x] = helper(n) + helper(out[0]);
}"""


def keys(
    folder: Path, *texts: str, symbols: tuple[str, ...] = (), level: str = "-O2"
) -> Mapping[int, bytes | None]:
    """Return the code keys of variants that are compiled as one batch, by number."""
    cxx = find_compiler()
    compiler = HostCompiler(
        cxx=cxx,
        file_name="k.cu",
        front="",
        kernels=("k",),
        options=(level,),
        jobs=1,
        symbols=symbols,
    )
    exported = references(["k"], symbols)
    batch = [Phenotype(i, f"{text}\n{exported}", (), b"") for i, text in enumerate(texts)]
    built = list(compiler.compile(batch, folder))
    assert all(isinstance(one, Binary) for one in built), built
    return {one.ident: one.code_key for one in built if isinstance(one, Binary)}


def test_the_same_code_has_the_same_key_in_any_company(tmp_path: Path) -> None:
    other = PLAIN.replace("% 7", "% 9")
    found = keys(tmp_path / "a", PLAIN, other, PLAIN.replace("helper(n)", "(0, helper(n))"))
    assert found[0] is not None
    assert found[0] == found[2] != found[1]
    assert list(keys(tmp_path / "b", other, PLAIN).values()) == [found[1], found[0]]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("x / 5", "x / 6"),
        ("helper(out[0])", "helper(out[1])"),
        ("if (threadIdx.x", "if (blockIdx.x"),
        ("__device__ int helper", "__device__ __noinline__ int helper"),
        ("int n)", "long n)"),
        ("{ return x % 7", "{ __shared__ int s; s = x; return s + x % 7"),
        ("out[0]);", "out[0]) + (n > 2 ? 0.5f : 0.25f);"),
    ],
)
def test_other_code_has_another_key(tmp_path: Path, old: str, new: str) -> None:
    assert old in PLAIN
    found = keys(tmp_path, PLAIN, PLAIN.replace(old, new))
    assert found[0] != found[1]


def test_other_constants_make_another_key(tmp_path: Path) -> None:
    """The code says only where they lie."""
    text = """
    __device__ int helper(int x) { switch (x) { case 0: return 5; case 1: return 11; case 2:
      return 17; case 3: return 3; case 4: return 99; case 5: return 7; default: return 0; } }
    __global__ void k(float *out, int n) { out[0] = out[0] * 0.37f + helper(n); }"""
    found = [
        keys(tmp_path / str(number), one)[0]
        for number, one in enumerate(
            [text, text, text.replace("0.37f", "0.38f"), text.replace("99", "98")]
        )
    ]
    assert found[0] == found[1]
    assert len({*found}) == 3


def test_where_shared_memory_is_larger_the_key_is_another(tmp_path: Path) -> None:
    text = "__global__ void k(int *o) { __shared__ int s[64]; s[o[1]] = 1; o[0] = s[o[2]]; }"
    found = keys(tmp_path, text, text, text.replace("64", "65"))
    assert found[0] == found[1] != found[2]


def test_shared_memory_counts_where_it_is_not_used(tmp_path: Path) -> None:
    """It is poisoned before each block all the same."""
    text = "__global__ void k(int *o) { __shared__ int s[64]; o[0] = 1; }"
    found = keys(tmp_path, text, text, text.replace("__shared__ int s[64];", ""))
    assert found[0] == found[1] != found[2]


def test_variables_are_part_of_the_code(tmp_path: Path) -> None:
    text = "__constant__ int c[2] = {1, 2}; __global__ void k(int *o) { o[0] = c[o[1]]; }"
    first, second, third = (
        keys(tmp_path / name, one, symbols=("c",))[0]
        for name, one in [("a", text), ("b", text), ("c", text.replace("2}", "3}"))]
    )
    assert first == second != third


def test_functions_that_call_each_other_end(tmp_path: Path) -> None:
    text = """
    __device__ __noinline__ int g(int x);
    __device__ __noinline__ int f(int x) { return x ? 3 * g(x - 1) + 1 : x; }
    __device__ __noinline__ int g(int x) { return x ? 5 * f(x - 2) + 1 : x; }
    __global__ void k(int *o) { o[0] = f(o[1]); }"""
    # The same bytes but for the function that is called.
    astray = text.replace("5 * f(", "5 * g(")
    found = keys(tmp_path, text, text, astray, level="-O0")
    assert found[0] == found[1] != found[2]


def test_code_that_runs_at_loading_time_leaves_no_keys(tmp_path: Path) -> None:
    text = "__device__ int start(); __device__ int v = start(); __device__ int start() "
    text += "{ volatile int x = 3; return x; } __global__ void k(int *o) { o[0] = v; }"
    assert keys(tmp_path, text) == {0: None}


def test_what_is_no_object_file_is_refused() -> None:
    with pytest.raises(ValueError, match="ELF"):
        Elf(b"!<arch>\n")


def test_streams_leave_a_key(tmp_path: Path) -> None:
    """A third of public sources includes them, for their host code."""
    folder = shutil.copytree(TARGETS / "scale", tmp_path / "scale")
    file = folder / "kernel.cu"
    said = "void say() { std::cout << 1.5f << std::endl; }"
    file.write_text(f"#include <iostream>\n{file.read_text()}\n{said}\n")
    subject = load_subject(folder, "host")
    compiler = open_backend("host").compiler(subject, 1)
    (built,) = build_candidates(compiler, [unmodified(subject)], tmp_path / "build")
    assert isinstance(built, Binary)
    assert built.code_key is not None
