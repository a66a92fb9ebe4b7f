"""Variants have the same machine code whether the compiler reads all headers or a part of them."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from gi_cuda.backend import nvcc_compiler
from gi_cuda.build import nvcc as room
from gi_cuda.build.batch import build_batch
from gi_cuda.build.model import BuildFailure, Phenotype, Variant
from gi_cuda.build.namespaces import namespaces
from gi_cuda.build.nvcc import CudaBinary, NvccCompiler, shard_text
from gi_cuda.build.preprocess import prelude
from gi_cuda.build.prune import identifiers
from gi_cuda.build.ptx import named_by, pieces
from gi_cuda.build.shards import attribute
from gi_cuda.build.staged import Prepared, compile_to_ptx, same_code
from gi_cuda.cuda import Toolkit
from gi_cuda.levels import load_evolvable

TESTS = Path(__file__).parents[2]
SOURCES = [
    path
    for path in sorted((TESTS / "sources").glob("*.cu"))
    if re.search("#include <|template|operator", path.read_text("utf-8", "surrogateescape"))
]
"""Those that need most of the headers."""
TARGETS = Path(__file__).parents[3] / "targets"

LIBRARY = """\
#include <cuda_fp16.h>
#include <cassert>
#include <cstdio>
#include <new>
#include <tuple>
#include <type_traits>
#include <initializer_list>
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
struct P { int x; float y; };
enum class E : int { a = 1, b = 2 };
__device__ float total(std::initializer_list<float> l) {
    float s = 0;
    for (float v : l) s += v;
    return s;
}
template <class T>
__device__ std::enable_if_t<std::is_floating_point_v<T>, T> up(T x) { return x * T(2); }
__global__ void all(float *a, int n, P *p, __half *h, cudaTextureObject_t t) {
    assert(n > 0);
    printf("%d %f\\n", n, a[0]);
    a[1] = max(a[2], a[3]) + sinf(a[2]) + std::sqrt(a[1]) + pow(a[1], 2.0) + abs(a[1]);
    int *m = new int[n];
    m[0] = n;
    a[4] = m[n - 1];
    delete[] m;
    new (p) P{1, 2.f};
    auto [u, v] = p[3];
    a[6] = u + v + total({1.f, a[1]}) + up(a[3]) + tex1Dfetch<float>(t, n);
    if (E(n) == E::b) a[7] = atomicAdd(a, __ldg(a + 1));
    h[0] = h[1] * h[2] + __float2half(3.f);
    auto tile = cg::tiled_partition<32>(cg::this_thread_block());
    a[9] = tile.shfl_down(a[threadIdx.x], 3) + __shfl_xor_sync(~0u, a[1], 1) + __popc(n);
}
"""


def compiler_of(toolkit: Toolkit, text: str, folder: Path) -> NvccCompiler:
    return NvccCompiler(
        nvcc=str(toolkit.nvcc),
        architecture="sm_90",
        file_name="kernel.cu",
        front=prelude(text),
        options=("-std=c++17", f"-I{folder}"),
        jobs=2,
        namespaces=namespaces(text),
        names=identifiers(text),
    )


def preludes(compiler: NvccCompiler, options: tuple[str, ...] = ()) -> tuple[Prepared, Prepared]:
    """All of it, and what is within reach."""
    whole = compiler._prepare(options)
    assert whole is not None
    return whole, whole.within_reach_of(compiler.names)


def ptx(ready: Prepared, compiler: NvccCompiler, shard: list[Phenotype], folder: Path) -> str:
    ready.put(folder)
    made = folder / "shard.ptx"
    text = shard_text("", shard, compiler.namespaces)
    finished = compile_to_ptx(ready, text, made, room.COMPILE_LIMIT)
    assert finished.ok, finished.stderr
    return made.read_text()


def assert_same(expected: str, found: str) -> None:
    """The functions and variables of variant 1 are the same, and of headers there are no others;
    there may be variables that nobody uses."""
    own = named_by(1)
    all_, some = pieces(expected), pieces(found)
    assert any(".entry" in piece for piece in some)
    assert {piece for piece in some if own.search(piece)} == {p for p in all_ if own.search(p)}
    assert some <= all_


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_sources_of_every_construct_have_the_same_ptx(
    toolkit: Toolkit, path: Path, tmp_path: Path
) -> None:
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    compiler = compiler_of(toolkit, text, path.parent)
    phenotype = compiler.preprocess([Variant(1, text, {})])[1]
    if isinstance(phenotype, BuildFailure):
        pytest.skip(f"nvcc does not preprocess it: {phenotype.message}")
    whole, part = preludes(compiler)
    assert len(part.front) < len(whole.front)
    assert_same(*(ptx(one, compiler, [phenotype], tmp_path) for one in (whole, part)))


def test_what_the_compiler_looks_up_by_itself_is_there(toolkit: Toolkit, tmp_path: Path) -> None:
    compiler = compiler_of(toolkit, LIBRARY, tmp_path)
    phenotype = compiler.preprocess([Variant(1, LIBRARY, {})])[1]
    assert isinstance(phenotype, Phenotype)
    assert_same(*(ptx(ready, compiler, [phenotype], tmp_path) for ready in preludes(compiler)))


@pytest.mark.parametrize("name", ["bwt_exact", "sw_tuned", "tissue_spread"])
def test_mutants_of_the_targets_have_the_same_ptx(
    toolkit: Toolkit, name: str, tmp_path: Path
) -> None:
    subject = load_evolvable(TARGETS / name, "cuda", edits="full")
    compiler = nvcc_compiler(subject, 2, toolkit, "sm_90")
    rng = random.Random(name)
    original = subject.options(subject.original.configuration)
    variants = [Variant(0, subject.reference, subject.macros(subject.space.default), original)]
    while len(variants) < 7:
        genotype = subject.original
        for _ in range(rng.randint(1, 4)):
            genotype = subject.mutate(genotype, rng) or genotype
        if subject.options(genotype.configuration) == original:
            text = subject.render(genotype, dict.fromkeys(range(100), 1000))
            macros = subject.macros(genotype.configuration)
            variants.append(Variant(len(variants), text, macros, original))
    found = compiler.preprocess(variants).values()
    shard = [one for one in found if isinstance(one, Phenotype)]
    whole, part = preludes(compiler, original)
    assert len(part.front) < len(whole.front) / 5
    whole.put(tmp_path)
    text = shard_text("", shard, compiler.namespaces)
    tried = compile_to_ptx(whole, text, tmp_path / "probe.ptx", room.COMPILE_LIMIT)
    good = [one for one in shard if one.ident not in attribute(tried.stderr)]
    assert len(good) >= len(variants) // 2
    expected, found_ptx = (ptx(one, compiler, good, tmp_path) for one in (whole, part))
    assert found_ptx == expected


ODD_HEADER = """\
#define PASTE(a, b) a##b
static __device__ float half_of(float x) { return x / 2; }
static __device__ float half_of(int x) { return 0; }
"""
ODD = """\
#include "odd.h"
__global__ void k(float *x) { x[0] = PASTE(half, _of)(x[1]); }
"""

KERNEL = """\
#include <cuda_fp16.h>
__global__ void scale(float *x, __half *h) { x[threadIdx.x] = FACTOR * sinf(x[1]); h[1] = h[2]; }
"""


def batch(broken: set[int]) -> list[Variant]:
    """As many variants as are worth it."""
    return [
        Variant(i, KERNEL.replace("x[1]", "y[1]") if i in broken else KERNEL, {"FACTOR": f"{i}.5f"})
        for i in range(room.WORTH)
    ]


def test_a_batch_has_the_same_code_with_part_of_the_headers(
    toolkit: Toolkit, tmp_path: Path
) -> None:
    compiler = compiler_of(toolkit, KERNEL, tmp_path)
    with_part = build_batch(compiler, batch({5}), tmp_path / "part")
    assert list(compiler._reached) == [()]
    reached = compiler._reached[()]
    assert reached is not None
    assert "sinf" in reached.front
    assert "cosf" not in reached.front
    unknown = replace(compiler, names=frozenset(), _reached={})
    whole = build_batch(unknown, batch({5}), tmp_path / "whole")
    assert not unknown._reached
    for ident, one in whole.items():
        other = with_part[ident]
        if ident == 5:
            assert isinstance(one, BuildFailure)
            assert one == other
        else:
            assert isinstance(one, CudaBinary)
            assert isinstance(other, CudaBinary)
            assert (one.code_key, one.resources) == (other.code_key, other.resources)


def test_a_name_that_nobody_knew_of_makes_no_variant_fail(toolkit: Toolkit, tmp_path: Path) -> None:
    compiler = compiler_of(toolkit, KERNEL, tmp_path)
    variants = batch({5})
    text = KERNEL.replace("sinf", "cosf")
    variants[9] = replace(variants[9], text=text)
    variants[20] = replace(variants[20], text=text)
    built = build_batch(compiler, variants, tmp_path / "out")
    reached = compiler._reached[()]
    assert reached is not None
    assert "cosf" not in reached.front
    failures = [one for one in built.values() if isinstance(one, BuildFailure)]
    assert [one.ident for one in failures] == [5]
    alone = build_batch(compiler, [variants[9]], tmp_path / "alone")[9]
    assert isinstance(alone, CudaBinary)
    found = built[9]
    assert isinstance(found, CudaBinary)
    assert found.code_key == alone.code_key


def test_names_that_macros_paste_together_are_reached(toolkit: Toolkit, tmp_path: Path) -> None:
    (tmp_path / "odd.h").write_text(ODD_HEADER)
    compiler = compiler_of(toolkit, ODD, tmp_path)
    _, part = preludes(compiler)
    assert "half_of" not in part.front
    variants = [Variant(i, ODD, {}) for i in range(room.WORTH)]
    built = build_batch(compiler, variants, tmp_path / "out")
    assert all(isinstance(one, CudaBinary) for one in built.values())
    reached = compiler._reached[()]
    assert reached is not None
    assert "half_of" in reached.front


def test_other_code_is_noticed(toolkit: Toolkit, tmp_path: Path) -> None:
    (tmp_path / "odd.h").write_text(ODD_HEADER)
    compiler = compiler_of(toolkit, ODD, tmp_path)
    whole, part = preludes(compiler)
    phenotype = compiler.preprocess([Variant(1, ODD, {})])[1]
    assert isinstance(phenotype, Phenotype)
    text = shard_text("", [phenotype])
    slower = replace(whole, front=whole.front.replace("x / 2", "x / 4"))
    less = replace(whole, front=whole.front.replace("float half_of(float", "float of(float"))

    def same(other: Prepared, text: str = text) -> bool | None:
        return same_code(whole, other, phenotype, text, room.COMPILE_LIMIT)

    assert same(whole) is True
    assert same(slower) is False
    assert same(less) is False
    assert same(part) is False
    assert same(part, "nonsense") is None
