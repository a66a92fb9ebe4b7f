"""Batches with real nvcc: error messages, code keys, resource usage."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.helpers import build_helpers
from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.protocol.variants import BlockSize, BuildFailure, Phenotype, Variant
from gi_cuda.grammar.frontends.cuda.coverage.branches import count_branches
from tests.sweeps import sweep

KERNEL = """\
#include <stdint.h>
#ifndef FACTOR
#define FACTOR 3
#endif
static __device__ uint32_t twice(uint32_t x) { return 2 * x; }
__global__ void blur(const float *in, float *out, uint32_t n) {
    __shared__ float tile[64];
    uint32_t at = blockIdx.x * 64 + threadIdx.x;
    tile[threadIdx.x] = at < n ? in[at] : 0;
    __syncthreads();
    if (at < n)
        out[at] = FACTOR * tile[twice(threadIdx.x) % 64];
}
"""

LARGE = """\
__global__ void large(float *x) {
    float a[200];
    for (int i = 0; i < 200; i++) a[i] = x[i * 7];
    for (int i = 0; i < 200; i++) x[(int)a[i]] = a[(int)x[i] & 127];
}
template <int N> __global__ void power(float *x, int n) {
    extern __shared__ float whole[];
    __shared__ double some[33];
    whole[threadIdx.x] = x[threadIdx.x]; some[threadIdx.x] = whole[1];
    __syncthreads();
    for (int i = 0; i < N; i++) x[i] = whole[n] / some[i];
}
template __global__ void power<5>(float *, int);
"""


def test_forty_variants_of_which_three_are_broken(nvcc: Any) -> None:
    texts = [KERNEL.replace("FACTOR *", f"{i}.0f + FACTOR *") for i in range(40)]
    texts[4] = texts[4].replace("tile[thr", "tyle[thr", 1)
    texts[17] = texts[17].replace("at < n ?", "at < n ? ?")
    texts[33] = texts[33].replace("__global__", "#error not this one\n__global__")
    built = nvcc.build(texts)
    assert sorted(built) == list(range(1, 41))
    failed = {i: one.message for i, one in built.items() if isinstance(one, BuildFailure)}
    assert sorted(failed) == [5, 18, 34]
    assert failed[5].startswith('kernel.cu:9: identifier "tyle" is undefined')
    assert failed[18].startswith("kernel.cu:9: expected an expression")
    assert failed[34] == "kernel.cu:6: #error not this one"
    fine = [one for one in built.values() if isinstance(one, CudaBinary)]
    assert all(list(one.kernels) == ["blur"] for one in fine)
    assert len({one.code_key for one in fine}) == 37


def test_arguments_lie_where_the_compiler_looks_for_them(nvcc: Any) -> None:
    way = "struct alignas(64) Way { int factor, shift; };\n"
    kernel = "__global__ void k(int *x, Way way, char y, short z) { *x = way.shift * y * z; }\n"
    (built,) = nvcc.build([way + kernel]).values()
    (kernel,) = built.kernels.values()
    first, second, third, fourth = kernel.parameters
    assert (first, third - second, fourth - third) == (0, 64, 2)
    # Counted from the first one, the struct would begin at 64: on no GPU so far do all begin at a
    # multiple of that.
    assert second in range(8, 64)
    values = [(b"p" * 8, 8), (b"s" * 64, 64), (b"y", 1), (b"zz", 2)]
    packed = kernel.arguments(values)
    places = zip(kernel.parameters, values, strict=True)
    assert all(packed[begin:].startswith(value) for begin, (value, _) in places)
    assert len(packed) == fourth + 2


def test_more_errors_than_the_compiler_would_like_to_show(nvcc: Any) -> None:
    broken = "__global__ void k(int *x) {" + " x[0] = nothing;" * 7 + " }\n"
    built = nvcc.build([broken] * 30)
    messages = {one.message for one in built.values() if isinstance(one, BuildFailure)}
    assert len(built) == 30
    assert messages == {'kernel.cu:1: identifier "nothing" is undefined'}


def test_what_only_the_assembler_refuses_comes_home_too(nvcc: Any) -> None:
    text = "__global__ void k(int *x) { __shared__ int y[SIZE]; y[x[1]] = 1; x[0] = y[x[2]]; }\n"
    sizes = [10, 100_000, 20]
    built = nvcc.build([text.replace("SIZE", str(size)) for size in sizes])
    assert isinstance(built[1], CudaBinary)
    assert isinstance(built[3], CudaBinary)
    assert "k uses too much shared data" in built[2].message.replace("'", "").replace("EPi", "")


def test_equal_code_has_equal_keys_in_any_batch_and_other_code_another(nvcc: Any) -> None:
    comment = KERNEL.replace("    __sync", "    // a comment\n    __sync")
    dead = KERNEL.replace("    if (at < n)\n", "    n = n + 0; if (at < n)\n")
    other = KERNEL.replace("* 64 +", "* 65 +")
    bounds = KERNEL.replace("void blur", "void __launch_bounds__(64) blur")
    room = KERNEL.replace("tile[64]", "tile[65]")
    texts = [other, bounds, room, dead, comment, KERNEL]
    keys = [one.code_key for one in nvcc.binaries(texts)]
    assert keys[3] == keys[4] == keys[5]
    assert len(set(keys)) == 4
    # Nor does a key depend on the batch.
    (alone,) = nvcc.binaries([KERNEL])
    assert alone.code_key == keys[5]


def test_first_values_of_variables_are_part_of_the_key(nvcc: Any) -> None:
    text = "__constant__ int t[2] = {1, 2};\n__global__ void k(int *x) { x[0] = t[x[1]]; }\n"
    changed = text.replace("{1, 2}", "{1, 3}")
    first, second = nvcc.binaries([text, changed])
    assert first.variables.keys() == {"t"}
    assert first.code_key != second.code_key


def test_static_variables_of_functions_are_part_of_the_key(nvcc: Any) -> None:
    text = "__global__ void k(int *o) { static int a = %d, b = 9; o[0] = %s++; }\n"
    texts = [text % (7, "a"), text % (8, "a"), text % (7, "b")]
    assert len({one.code_key for one in nvcc.binaries(texts)}) == 3


def test_resources_are_those_that_nvcc_reports(nvcc: Any, toolkit: Toolkit, tmp_path: Path) -> None:
    text = KERNEL + LARGE
    (binary,) = nvcc.binaries([text])
    source = tmp_path / "alone.cu"
    source.write_text(text)
    command = [toolkit.nvcc, "-std=c++17", "-arch=sm_90", "-w", "-cubin", "-Xptxas", "-v", source]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    said = done.stderr
    assert done.returncode == 0, said
    for name, kernel in binary.kernels.items():
        (report,) = re.findall(rf"entry function '\w*{name}\w*'(.*?)Compile time", said, re.S)
        (registers,) = re.findall(r"Used (\d+) registers", report)
        (stack,) = re.findall(r"(\d+) bytes stack frame", report)
        shared = re.findall(r"(\d+) bytes smem", report) or ["0"]
        assert kernel.registers == int(registers), name
        assert kernel.local == int(stack), name
        assert kernel.shared == int(shared[0]), name
    assert binary.kernels["large"].local > 0
    assert binary.kernels["power"].shared >= 33 * 8
    assert binary.resources["registers"] == max(k.registers for k in binary.kernels.values())


def test_options_reach_the_compiler(nvcc: Any) -> None:
    text = "__global__ void k(float *x) { x[0] = sinf(x[1]) / x[2]; }\n"
    (plain,) = nvcc.binaries([text + LARGE])
    (fast,) = nvcc.binaries([text], ("--use_fast_math",))
    (tight,) = nvcc.binaries([LARGE], ("-maxrregcount=24",))
    assert fast.kernels["k"].code < plain.kernels["k"].code
    assert max(kernel.registers for kernel in plain.kernels.values()) > 24
    assert max(kernel.registers for kernel in tight.kernels.values()) <= 24


def test_names_of_any_kind_are_found(nvcc: Any) -> None:
    text = """\
extern "C" __global__ void in_c(int *x) { x[0] = 1; }
extern "C" {
__global__ void in_block(int *x) { x[0] = 2; }
}
namespace app { __global__ void nested(int *x) { x[0] = 3; } }
namespace { __global__ void hidden(int *x) { x[0] = 4; } }
static __global__ void filed(int *x) { x[0] = 5; }
__constant__ float weights[3];
__device__ int total;
__global__ void user(float *x) { x[0] = weights[(int)x[1]]; total = 3; }
"""
    binaries = nvcc.binaries([text, text])
    for binary in binaries:
        assert {"in_c", "in_block", "nested", "hidden", "filed", "user"} == binary.kernels.keys()
        assert {"weights", "total"} <= binary.variables.keys()
    symbols = {k.symbol for b in binaries for k in b.kernels.values()}
    assert len(symbols) == 12


def test_the_preprocessor_knows_what_the_device_code_is_compiled_for(nvcc: Any) -> None:
    text = """\
#if __CUDA_ARCH__ >= 900 && defined(__CUDACC__)
__global__ void k(int *x) { x[0] = FACTOR; }
#else
#error wrong side
#endif
"""
    built = nvcc.build([text], FACTOR="11")
    assert isinstance(built[1], CudaBinary)


def test_instrumented_loops_have_their_counter(nvcc: Any) -> None:
    text = (
        "__global__ void k(int *x) { unsigned n = 0;"
        " for (int i = 0; gi_loop(4u, ++n) && (i < x[1]); i++) x[i] = i; }\n"
    )
    (binary,) = nvcc.binaries([text])
    assert "gi_loop_most" in binary.variables


def test_the_ways_of_what_a_compiler_for_gpus_preprocesses_are_counted(nvcc: Any) -> None:
    text = "__global__ void k(int *x) { if (x[0] > 3 && FACTOR > 2) x[1] = 2; }\n"
    found = nvcc.compiler.preprocess([Variant(1, text, {"FACTOR": "11"})])[1]
    assert isinstance(found, Phenotype)
    counted = count_branches(found.text)
    assert [one.text for one in counted.forks] == ["x[0] > 3 && 11 > 2", "x[0] > 3", "11 > 2"]
    (binary,) = nvcc.binaries([counted.text])
    assert "gi_loop_most" in binary.variables


def test_a_guarded_loop_is_not_unrolled_as_often_as_its_guard_allows(nvcc: Any) -> None:
    text = """\
constexpr __device__ int sum(int n) {
    int s = 0;
    { unsigned gi_guard_0 = gi_begin();
    for (int i = 0; (i < n) && (gi_guard_0++ < 1000 || gi_late()); i++) s += i; }
    return s;
}
__global__ void k(float *x, int n) {
    static_assert(sum(4) == 6, "a constant is one with a guard as well");
    { unsigned gi_guard_1 = gi_begin();
#pragma unroll
    for (int i = 0; gi_guard_1++ < 1000 || gi_late(); i++) x[i] = x[n + i]; }
}
"""
    known = text.replace("gi_guard_1 = gi_begin()", "gi_guard_1 = 0")
    guarded, unrolled = nvcc.binaries([text, known])
    assert guarded.kernels["k"].code * 10 < unrolled.kernels["k"].code


def test_the_tools_own_kernels_are_compiled_once(toolkit: Toolkit, tmp_path: Path) -> None:
    first = build_helpers(toolkit, "sm_90", tmp_path)
    stamp = first.stat().st_mtime_ns
    assert build_helpers(toolkit, "sm_90", tmp_path) == first
    assert first.stat().st_mtime_ns == stamp
    assert first.read_bytes().startswith(b"\x7fELF")
    assert [path.name for path in tmp_path.iterdir()] == [first.name]


MANY_KINDS = """
__constant__ float weights[4];
__device__ int seen = 3;
template <int N> __global__ void scaled(float *out) { out[threadIdx.x] *= N; }
static __device__ __noinline__ float part(float a) { return erff(a) / 3.0f + weights[1]; }
extern "C" __global__ void __launch_bounds__(64) k(float *out, int n)
{
    __shared__ float s[64];
    s[threadIdx.x] = part(out[threadIdx.x]) + VALUE;
    __syncthreads();
    for (int i = 0; i < n; i++) out[i] += s[(i + threadIdx.x) % 64] + sinf(out[i]) + seen;
}
"""


SEVERAL = "-O1 -maxrregcount=16 --use_fast_math"


@pytest.mark.parametrize("options", sweep(["", SEVERAL], SEVERAL))
def test_stage_by_stage_gives_the_machine_code_that_nvcc_gives(
    nvcc: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: str
) -> None:
    texts = [MANY_KINDS.replace("VALUE", value) for value in ("1.0f", "2.0f", "3.0f")]
    staged = nvcc.binaries(texts, tuple(options.split()))
    monkeypatch.setattr("gi_cuda.backends.cuda.compile.nvcc.prepare", lambda *_: None)
    nvcc.folder = tmp_path / "whole"
    whole = nvcc.binaries(texts, tuple(options.split()))
    assert [one.code_key for one in staged] == [one.code_key for one in whole]
    assert [one.resources for one in staged] == [one.resources for one in whole]


@pytest.mark.parametrize("options", sweep(["", "-O1"], ""))
def test_variants_of_one_ptx_share_machine_code(nvcc: Any, options: str) -> None:
    text = 'extern "C" __global__ void k(float *out) { out[threadIdx.x] += VALUE; }\n'
    texts = [text.replace("VALUE", value) for value in ("1.0f", "2.0f", "(1.0f + 1)", "3.0f")]
    one, two, twin, three = nvcc.binaries(texts, tuple(options.split()))
    assert len({one.code_key, two.code_key, three.code_key}) == 3
    # The twin is not assembled: it is in the other one's cubin, under its name.
    assert (twin.code_key, twin.kernels, twin.path) == (two.code_key, two.kernels, two.path)


def test_copies_that_are_to_be_apart_have_places_of_their_own(nvcc: Any) -> None:
    nvcc.compiler = nvcc.compiler.apart()
    copies = nvcc.binaries([KERNEL] * 3)
    assert len({one.code_key for one in copies}) == 1
    assert len({(one.path, one.kernels["blur"].symbol) for one in copies}) == 3


def test_variants_with_variables_of_their_own_share_machine_code_too(nvcc: Any) -> None:
    text = """
    static __device__ unsigned tickets;
    __global__ void k(unsigned *out) { out[0] = atomicAdd(&tickets, VALUE); }
    """
    texts = [text.replace("VALUE", value) for value in ("3", "2 + 1", "4")]
    one, twin, other = nvcc.binaries(texts)
    assert (twin.code_key, twin.variables) == (one.code_key, one.variables)
    assert one.variables.keys() == {"tickets"}
    assert other.code_key != one.code_key


def test_a_closer_look_counts_instructions_and_warps(nvcc: Any, toolkit: Toolkit) -> None:
    text = """
    __device__ __noinline__ float part(float a) { return a * a + 1.5f; }
    __global__ void k(float *out) {
        __shared__ float s[64];
        s[threadIdx.x] = part(out[threadIdx.x]);
        __syncthreads();
        out[threadIdx.x] = s[63 - threadIdx.x];
    }
    """
    tool = toolkit.tool("nvdisasm")
    if tool is None:
        pytest.skip("nvdisasm is not installed")
    compiler = replace(nvcc.compiler, disassembler=tool)
    one, more = nvcc.binaries([text, text.replace("1.5f", "a * sinf(a)")])
    blocks = {"k": BlockSize(64, 0)}
    seen = compiler.inspect(one, blocks)
    assert seen["occupancy of k in percent"] == 100
    assert seen["instructions, barrier"] >= 1
    assert seen["instructions, shared memory"] == 2
    assert seen["instructions, global memory"] == 2
    assert seen["instructions, floating point"] >= 1
    assert "instructions, other" not in seen
    floating = "instructions, floating point"
    assert compiler.inspect(more, blocks)[floating] > seen[floating]
    # Without the tool there is the occupancy alone.
    much = {"k": BlockSize(64, 100 * 1024)}
    assert nvcc.compiler.inspect(one, much) == {"occupancy of k in percent": 6}


def test_what_nothing_sets_is_warned_of(nvcc: Any) -> None:
    unset = KERNEL.replace("twice(threadIdx.x) %", "found %").replace(
        "    __sh", "    int found;\n    __sh"
    )
    for text, names in (
        (KERNEL, set()),
        (unset, {"found"}),
        (unset.replace("nd;", "nd = 1;"), set()),
    ):
        assert nvcc.compiler.examined(Variant(1, text, {})).unset == names


def test_products_and_sums_are_rounded_apart_where_that_is_asked_for(nvcc: Any) -> None:
    text = "__global__ void blur(const float *x, float *y, float a) { *y = a * x[0] + x[1]; }\n"
    found = []
    for compiler in (nvcc.compiler, nvcc.compiler.differently(())):
        nvcc.compiler = compiler
        (binary,) = nvcc.binaries([text])
        (made,) = binary.path.parent.glob("*.ptx")
        found.append((binary.code_key, "fma.rn" in made.read_text()))
        made.unlink()
    (joined, yes), (apart, no) = found
    assert joined != apart
    assert (yes, no) == (True, False)
