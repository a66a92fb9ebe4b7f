"""Variants have the same machine code whether the compiler reads all headers or a part of them."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from gi_cuda.backends.compile.process import Finished
from gi_cuda.backends.compile.pruning.namespaces import namespaces
from gi_cuda.backends.compile.pruning.prune import identifiers
from gi_cuda.backends.compile.shards import attribute
from gi_cuda.backends.cuda.backend import nvcc_compiler
from gi_cuda.backends.cuda.compile import nvcc as room
from gi_cuda.backends.cuda.compile.staged import ShardSetup, compile_to_ptx
from gi_cuda.backends.cuda.compile.texts import shard_text
from gi_cuda.backends.cuda.ptx.module import named_by, pieces
from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.protocol.variants import Phenotype, Variant
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.genome import mutate
from gi_cuda.search.strategies.barracuda import PAPER
from tests.integration.backends.preludes import compiler_of, preludes
from tests.sweeps import broad, sweep

TESTS = Path(__file__).parents[2]
SOURCES = [
    path
    for path in sorted((TESTS / "sources").glob("*.cu"))
    if re.search("#include <|template|operator", path.read_text("utf-8", "surrogateescape"))
]
"""Sources that need most of the headers."""
INCLUDE = re.compile("#include <.*>")
OF_MODULE = re.compile("_INTERNAL_[0-9a-f]{8}_8_shard_cu_[0-9a-f]{8}")
"""Names with internal linkage tell what else is in the module."""
LARGE = ("cooperative",)
"""Sources with large headers besides CUDA's own."""
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


def ptx(ready: ShardSetup, shard: str, folder: Path) -> str:
    ready.put(folder)
    made = folder / "shard.ptx"
    finished = compile_to_ptx(ready, shard, made, room.COMPILE_LIMIT)
    assert finished.ok, finished.stderr
    return made.read_text()


def assert_same(expected: str, found: str, ident: int) -> None:
    """A variant's functions and variables are the same, and of headers there are no others;
    there may be variables that nobody uses."""
    own = named_by(ident)
    all_, some = (pieces(OF_MODULE.sub("_INTERNAL_", text)) for text in (expected, found))
    assert any(".entry" in piece for piece in some)
    assert {piece for piece in some if own.search(piece)} == {p for p in all_ if own.search(p)}
    assert some <= all_


class Together:
    """Several sources after one prelude, which is read once; each reaches a part of its own."""

    def __init__(self, toolkit: Toolkit, texts: Mapping[str, str], folder: Path) -> None:
        included = [line for text in texts.values() for line in INCLUDE.findall(text)]
        compiler = compiler_of(toolkit, "\n".join(dict.fromkeys(included)), folder)
        variants = [Variant(number, text, {}) for number, text in enumerate(texts.values(), 1)]
        made = compiler.preprocess(variants).values()
        whole = compiler.prepared(())
        assert whole is not None
        self.texts, self.folder, self.whole = texts, folder, whole
        self.phenotypes = dict(zip(texts, made, strict=True))
        good = [name for name, one in self.phenotypes.items() if isinstance(one, Phenotype)]
        self.expected = ptx(whole, "".join(map(self.shard, good)), folder)

    def shard(self, name: str) -> str:
        phenotype = self.phenotypes[name]
        assert isinstance(phenotype, Phenotype), phenotype
        return shard_text("", [phenotype], namespaces(self.texts[name]))

    def assert_same(self, name: str) -> None:
        part = self.whole.within_reach_of(identifiers(self.texts[name]))
        assert len(part.front) < len(self.whole.front)
        found = ptx(part, self.shard(name), self.folder)
        assert_same(self.expected, found, self.phenotypes[name].ident)


@pytest.fixture(scope="module")
def together(toolkit: Toolkit, tmp_path_factory: pytest.TempPathFactory) -> Together:
    """Sources that need CUDA's own headers and C's, which those include anyway."""
    texts = {path.stem: read(path) for path in SOURCES if path.stem not in LARGE}
    return Together(toolkit, texts, tmp_path_factory.mktemp("together"))


@pytest.fixture(scope="module")
def large(toolkit: Toolkit, tmp_path_factory: pytest.TempPathFactory) -> Together:
    """Return sources that also need large headers."""
    texts = {path.stem: read(path) for path in SOURCES if path.stem in LARGE}
    return Together(toolkit, {"library": LIBRARY} | texts, tmp_path_factory.mktemp("large"))


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="surrogateescape")


@pytest.mark.parametrize(
    "name", sweep([path.stem for path in SOURCES if path.stem not in LARGE], "atomics", "classes")
)
def test_sources_of_every_construct_have_the_same_ptx(together: Together, name: str) -> None:
    together.assert_same(name)


@broad
@pytest.mark.parametrize("name", ["library", *LARGE])
def test_what_the_compiler_looks_up_by_itself_is_there(large: Together, name: str) -> None:
    large.assert_same(name)


@pytest.mark.parametrize("name", sweep(["bwt_exact", "sw_tuned", "tissue_spread"], "bwt_exact"))
def test_mutants_of_the_targets_have_the_same_ptx(
    toolkit: Toolkit, name: str, tmp_path: Path
) -> None:
    subject = open_subject(TARGETS / name, "cuda", edits="full")
    compiler = nvcc_compiler(subject, 2, toolkit, "sm_90")
    rng = random.Random(name)
    original = subject.options(subject.original.configuration)
    variants = [Variant(0, subject.reference, subject.macros(subject.space.default), original)]
    while len(variants) < 7:
        genotype = subject.original
        for _ in range(rng.randint(1, 4)):
            genotype = mutate(genotype, subject.grammar, rng, PAPER) or genotype
        if subject.options(genotype.configuration) == original:
            text = subject.render(genotype, dict.fromkeys(range(100), 1000))
            macros = subject.macros(genotype.configuration)
            variants.append(Variant(len(variants), text, macros, original))
    found = compiler.preprocess(variants).values()
    shard = [one for one in found if isinstance(one, Phenotype)]
    whole, part = preludes(compiler, original)
    assert len(part.front) < len(whole.front) / 5
    whole.put(tmp_path)
    made, good = tmp_path / "shard.ptx", shard

    def compiled() -> Finished:
        text = shard_text("", good, compiler.namespaces)
        return compile_to_ptx(whole, text, made, room.COMPILE_LIMIT)

    while not (tried := compiled()).ok:
        failed = attribute(tried.stderr)
        assert failed, tried.stderr
        good = [one for one in good if one.ident not in failed]
    assert len(good) >= len(variants) // 2
    expected = made.read_text()
    assert ptx(part, shard_text("", good, compiler.namespaces), tmp_path) == expected
