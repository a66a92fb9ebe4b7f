"""Building the runtime library, and its Python side."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gi_cuda.backends.host.build.common import mark_common
from gi_cuda.backends.host.build.library import (
    INCLUDE,
    build_library,
    compile_options,
    find_compiler,
)
from gi_cuda.backends.host.build.prepare import variant_text
from gi_cuda.backends.host.running.runtime import BadLaunch, Deadlock, Runtime
from gi_cuda.backends.host.running.shard import Shard
from gi_cuda.errors import UserError


@pytest.fixture(scope="module")
def runtime(library):
    return Runtime(library)


def test_processes_may_build_at_once(library, tmp_path):
    """The compiler is one that copies the library to where it is to be: it takes no time."""
    script = "from gi_cuda.backends.host.build.library import build_library; print(build_library())"
    compiler = tmp_path / "compiler"
    compiler.write_text(
        '#!/bin/sh\ncase "$*" in *--version*) exec echo copier;; esac\n'
        f'for last; do :; done\nexec cp "{library}" "$last"\n'
    )
    compiler.chmod(0o755)
    environment = {"CXX": str(compiler), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    children = [
        subprocess.Popen(
            [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    paths = {child.communicate()[0].strip() for child in children}
    assert [child.returncode for child in children] == [0, 0]
    (path,) = paths
    assert list((tmp_path / "cache" / "gi-cuda").iterdir()) == [Path(path)]


def test_the_library_is_built_once(library):
    built = library.stat().st_mtime_ns
    assert build_library(folder=library.parent) == library
    assert library.stat().st_mtime_ns == built


def test_a_process_has_one_runtime_library(runtime, library, tmp_path):
    other = tmp_path / "other.so"
    shutil.copy(library, other)
    with pytest.raises(RuntimeError, match="so not by"):
        Runtime(other)


def test_no_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(UserError, match="no-such-compiler") as caught:
        build_library(folder=tmp_path)
    assert "install" in (caught.value.hint or "")


def test_a_cache_that_cannot_be_written(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(UserError, match="cache"):
        build_library(folder=blocked / "below")


def test_buffers_are_poisoned_and_end_at_a_page(runtime):
    for dtype, count in (("float32", 1000), ("float64", 3), ("uint8", 5), ("uint32", 0)):
        buffer = runtime.alloc("b", dtype, count)
        assert buffer.shape == (count,)
        assert buffer.dtype == np.dtype(dtype)
        address = buffer.__array_interface__["data"][0]
        assert address % 16 == 0
        assert -(address + buffer.nbytes) % 4096 < 16
        if buffer.dtype.kind == "f":
            assert np.isnan(buffer).all()
        runtime.free(buffer)


TEXT = """
__global__ void add(int *a, int b, double c) { a[threadIdx.x] += b + int(c); }
__global__ void none() {}
__global__ void stuck() { if (threadIdx.x) __syncthreads(); else __syncwarp(); }
__global__ void loops(const int *n) {
  for (unsigned i = 0; gi_loop(2, i) && i < n[threadIdx.x]; ++i) ;
}
"""


@pytest.fixture
def shard(host, runtime):
    shard = Shard(host.compile(TEXT, ["add", "none", "stuck", "loops"]))
    yield shard
    shard.close()


def test_arguments_are_checked_against_the_signature(runtime, shard):
    kernel = shard.kernel("v0", "add")
    assert kernel.sizes == (8, 4, 8)
    assert shard.kernel("v0", "none").sizes == ()
    a = runtime.alloc("a", "int32", 4)
    a[:] = 0
    for arguments in ([a, np.int32(1)], [a, np.int64(1), np.float64(2)], []):
        with pytest.raises(BadLaunch, match="kernel add takes parameters of 8, 4, 8 bytes, not of"):
            runtime.run(runtime.call(kernel, arguments, (1,), (4,)))
    for geometry in ((0,), (1, 1, 1, 1), (-1,)):
        with pytest.raises(BadLaunch, match="geometry"):
            runtime.run(runtime.call(kernel, [a, np.int32(1), np.float64(2)], geometry, (4,)))
    runtime.run(runtime.call(kernel, [a, np.int32(1), np.float64(2)], (3,), (4,)))
    np.testing.assert_array_equal(a, 9)
    runtime.free(a)


def test_unknown_names(shard):
    with pytest.raises(KeyError, match="gi_kernel_v0_missing"):
        shard.kernel("v0", "missing")
    with pytest.raises(KeyError, match="gi_symbol_v1_x"):
        shard.symbol("v1", "x")


def test_a_call_may_run_many_times_and_after_a_deadlock(runtime, shard):
    a = runtime.alloc("a", "int32", 64)
    a[:] = 0
    call = runtime.call(shard.kernel("v0", "add"), [a, np.int32(1), np.float64(0)], (1,), (64,))
    for _ in range(3):
        runtime.run(call)
        with pytest.raises(Deadlock):
            runtime.run(runtime.call(shard.kernel("v0", "stuck"), [], (1,), (64,)))
    np.testing.assert_array_equal(a, 3)
    runtime.free(a)


def test_most_iterations_of_loops(runtime, shard):
    n = runtime.alloc("n", "int32", 4)
    n[:] = [3, 8, 0, 5]
    for _ in range(2):
        with runtime.loops(4) as most:
            runtime.run(runtime.call(shard.kernel("v0", "loops"), [n], (2,), (4,)))
            np.testing.assert_array_equal(most, [0, 0, 8, 0])
    runtime.free(n)


def test_shards_of_the_same_names_keep_apart(host, runtime):
    text = """
    __global__ void k(unsigned *out) {{
      __shared__ unsigned s[{n}];
      out[0] = s[0];
      s[0] = {n};
    }}"""
    paths = [host.compile(text.format(n=n), ["k"]) for n in (1, 2)]
    shards = [Shard(path) for path in paths]
    assert [shard.kernel("v0", "k").shared for shard in shards] == [4, 8]
    out = runtime.alloc("out", "uint32", 1)
    for shard in shards:
        runtime.run(runtime.call(shard.kernel("v0", "k"), [out], (2,), (1,)))
        assert out[0] == 0xFFFDA5A6
    runtime.free(out)
    for shard in shards:
        shard.close()


def test_a_closed_shard_is_gone(host, runtime):
    text = """
    template <class T> __device__ T &counter() { static T value; return value; }
    inline int &shared_counter() { static int value; return value; }
    __global__ void k(int *out) { out[0] = ++counter<int>() + ++shared_counter(); }"""
    path = host.compile(text, ["k"])
    out = runtime.alloc("out", "int32", 1)
    for _ in range(2):
        shard = Shard(path)
        runtime.run(runtime.call(shard.kernel("v0", "k"), [out], (1,), (1,)))
        shard.close()
        assert out[0] == 2
        assert str(path) not in Path("/proc/self/maps").read_text()
    runtime.free(out)


WORK = """
      for (int i = 0; i < 7; ++i) x = x * 31 + (x >> 3) % 17 + (x & 5 ? x / 3 : x * 7);
      while (x % 1001) x = x / 5 + (x & 9 ? x % 11 : x << 3) + (x > 77 ? x / 13 : x * x);
      for (int i = x; i < 99; i += x & 3) x = x * 29 + (x >> 5) % 19 + (x & 6 ? x / 7 : x * 9);
      while (x % 103) x = x / 3 + (x & 10 ? x % 23 : x << 2) + (x > 55 ? x / 17 : x * x);
      return x;"""
"""Too much to be inlined where it is not called once."""


@pytest.fixture
def assembly(host):
    """Return a function that compiles several variants of a kernel to assembly.

    In the kernel's text, THIS stands for a variant's number.
    """

    def compiled(text: str, variants: int) -> str:
        lines = ['#include "gi_cuda_host.hpp"']
        lines += [
            variant_text(f"v{i:03}", mark_common(text.replace("THIS", str(100 + i))), ["k"])
            for i in range(variants)
        ]
        source = host.folder / "batch.cpp"
        source.write_text("\n".join(lines))
        cxx = find_compiler()
        command = [cxx, *compile_options(cxx), "-O2", f"-I{INCLUDE}", "-S", "-o", "-"]
        done = subprocess.run([*command, source], capture_output=True, text=True, check=True)
        return done.stdout

    return compiled


def test_a_variant_compiles_to_the_same_code_alone_and_in_a_batch(assembly):
    """Else its time would depend on the company it has."""
    text = f"""
    __device__ int called_once(int x) {{{WORK}}}
    __device__ int called_twice(int x) {{{WORK.replace("31", "37")}}}
    __global__ void k(int *out) {{
      out[threadIdx.x] = called_once(threadIdx.x) + THIS;
      out[blockIdx.x] = called_twice(blockIdx.x) + called_twice(threadIdx.x);
    }}"""

    def code(variants: int) -> list[str]:
        found = assembly(text, variants)
        begin = found.index("v0001kEPi:")
        lines = found[begin : found.index(".size", begin)].splitlines()
        return [re.sub(r"\.L\w+|\bv\d+", "", line) for line in lines]

    assert code(1) == code(40)


def test_what_variants_have_in_common_is_compiled_once(assembly):
    if "-fipa-icf-functions" not in compile_options(find_compiler()):
        pytest.skip("the compiler is not g++, and others merge nothing")
    text = f"""
    __device__ int called_twice(int x) {{{WORK}}}
    __device__ int this_too(int x) {{{WORK.replace("31", "THIS")}}}
    __global__ void k(int *out) {{
      out[0] = called_twice(1) + called_twice(out[0]) + this_too(2) + this_too(out[0]) + THIS;
    }}"""
    found = assembly(text, 5)
    assert len(re.findall(r"^\w*called_twice\w*:", found, re.M)) == 1
    assert len(re.findall(r"^\w*this_too\w*:", found, re.M)) == 5
