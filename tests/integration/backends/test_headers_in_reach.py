"""A batch finds out which part of the headers its variants need, once for all that share them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.compile.pruning.prune import identifiers
from gi_cuda.backends.cuda.compile import nvcc as room
from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler
from gi_cuda.backends.cuda.compile.reached import headers_in_reach
from gi_cuda.backends.cuda.compile.staged import ShardSetup, code_of, is_same
from gi_cuda.backends.cuda.compile.texts import shard_text
from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.protocol.variants import BuildFailure, Built, Phenotype, Variant
from tests.integration.backends.preludes import compiler_of, preludes
from tests.sweeps import broad

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
// Edits may say INFINITY.
"""


def batch(broken: set[int]) -> list[Variant]:
    """Return the smallest batch for which the search for needed headers pays off."""
    return [
        Variant(i, KERNEL.replace("x[1]", "y[1]") if i in broken else KERNEL, {"FACTOR": f"{i}.5f"})
        for i in range(room.WORTH)
    ]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder in which nothing is found that others found out."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        yield folder / "gi-cuda" / "reach"


@pytest.fixture(scope="module")
def compiler(toolkit: Toolkit, tmp_path_factory: pytest.TempPathFactory) -> NvccCompiler:
    return compiler_of(toolkit, KERNEL, tmp_path_factory.mktemp("kernel"))


@pytest.fixture(scope="module")
def with_part(compiler: NvccCompiler, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Built]:
    """A batch in which the compiler finds out which part of the headers it needs."""
    return build_batch(compiler, batch({5}), tmp_path_factory.mktemp("part"))


@broad
def test_a_batch_has_the_same_code_with_part_of_the_headers(
    compiler: NvccCompiler, with_part: dict[int, Built], tmp_path: Path
) -> None:
    (reached,) = compiler._reached.values()
    assert "sinf" in reached
    assert "cosf" not in reached
    unknown = replace(compiler, names=frozenset(), _reached={})
    whole = build_batch(unknown, batch({5})[::5], tmp_path)
    assert not unknown._reached
    assert set(with_part) == set(range(room.WORTH))
    for ident, one in whole.items():
        other = with_part[ident]
        if ident == 5:
            assert isinstance(one, BuildFailure)
            assert one == other
        else:
            assert isinstance(one, CudaBinary)
            assert isinstance(other, CudaBinary)
            assert (one.code_key, one.resources) == (other.code_key, other.resources)


@pytest.mark.usefixtures("with_part")
def test_a_name_that_nobody_knew_of_makes_no_variant_fail(
    compiler: NvccCompiler, tmp_path: Path
) -> None:
    variants = batch({5})[:20]
    text = KERNEL.replace("sinf", "cosf")
    variants[9] = replace(variants[9], text=text)
    variants[18] = replace(variants[18], text=text)
    built = build_batch(compiler, variants, tmp_path / "out")
    (reached,) = compiler._reached.values()
    assert "cosf" not in reached
    failures = [one for one in built.values() if isinstance(one, BuildFailure)]
    assert [one.ident for one in failures] == [5]
    unknown = replace(compiler, names=frozenset(), _reached={})
    alone = build_batch(unknown, [variants[9]], tmp_path / "alone")[9]
    assert isinstance(alone, CudaBinary)
    found = built[9]
    assert isinstance(found, CudaBinary)
    assert found.code_key == alone.code_key


@pytest.mark.usefixtures("with_part")
def test_options_that_leave_the_headers_as_they_are_need_the_same_part(
    compiler: NvccCompiler, tmp_path: Path
) -> None:
    known = dict(compiler._reached)
    variants = [
        replace(one, options=(option,))
        for one in batch(set())[:2]
        for option in ("-use_fast_math", "-maxrregcount=32")
    ]
    variants = [replace(one, ident=ident) for ident, one in enumerate(variants)]
    built = build_batch(compiler, variants, tmp_path)
    assert all(isinstance(one, CudaBinary) for one in built.values())
    assert compiler._reached == known


@broad
@pytest.mark.usefixtures("with_part")
def test_what_was_found_out_once_is_known_to_the_next_process(
    compiler: NvccCompiler, cache: Path, tmp_path: Path
) -> None:
    (kept,) = cache.iterdir()
    (reached,) = compiler._reached.values()
    assert kept.read_text() == reached
    kept.write_text(f"{reached}/* from the cache */\n")
    confined = next(iter(compiler.rehearsing()))
    for name, one in {"as it is": compiler, "confined": confined}.items():
        fresh = replace(one, _reached={}, _seen=Counter(), _translated={})
        built = build_batch(fresh, batch({5}), tmp_path / name)
        assert sum(isinstance(one, BuildFailure) for one in built.values()) == 1
        (found,) = fresh._reached.values()
        assert found.endswith("/* from the cache */\n")


@pytest.mark.usefixtures("with_part")
def test_what_no_header_says_makes_no_difference(compiler: NvccCompiler, cache: Path) -> None:
    before = list(cache.iterdir())
    (phenotype,) = compiler.preprocess([batch(set())[0]]).values()
    whole = compiler.prepared(())
    assert isinstance(phenotype, Phenotype)
    assert whole is not None
    guarded = replace(phenotype, text=f"{phenotype.text}\nstatic float gi_guard_7;")
    for one in (phenotype, guarded):
        assert compiler.headers_in_reach(whole, [one]) == before[0].read_text()
    assert list(cache.iterdir()) == before


@pytest.mark.usefixtures("with_part")
def test_the_source_alone_tells_what_its_variants_need(compiler: NvccCompiler, cache: Path) -> None:
    """Also those that say a macro which the source does not use."""
    before = list(cache.iterdir())
    for text in (KERNEL, KERNEL.replace("x[1]", "INFINITY")):
        fresh = replace(compiler, _reached={}, _seen=Counter(), _translated={})
        fresh.warm_up(Variant(0, text, {"FACTOR": "1.5f"}))
    assert list(cache.iterdir()) == before


def test_where_nothing_compiles_nothing_is_known(compiler: NvccCompiler, cache: Path) -> None:
    before = list(cache.iterdir()) if cache.exists() else []
    phenotypes = compiler.preprocess([Variant(i, "nonsense;", {}) for i in range(3)]).values()
    group = [one for one in phenotypes if isinstance(one, Phenotype)]
    whole = compiler.prepared(())
    assert len(group) == 3
    assert whole is not None
    identity = compiler.identity(())
    assert identity is not None
    assert headers_in_reach(whole, group, compiler.names, (), identity) is None
    assert (list(cache.iterdir()) if cache.exists() else []) == before


class Odd(NamedTuple):
    """A source that pastes a name together, and its preludes."""

    compiler: NvccCompiler
    whole: ShardSetup
    part: ShardSetup


@pytest.fixture(scope="module")
def odd(toolkit: Toolkit, tmp_path_factory: pytest.TempPathFactory) -> Odd:
    folder = tmp_path_factory.mktemp("odd")
    (folder / "odd.h").write_text(ODD_HEADER)
    compiler = compiler_of(toolkit, ODD, folder)
    return Odd(compiler, *preludes(compiler))


def test_names_that_macros_paste_together_are_reached(odd: Odd) -> None:
    assert "half_of" not in odd.part.front
    assert "half_of" in part_of(odd.compiler, ODD)


def part_of(compiler: NvccCompiler, text: str) -> str:
    """The part of the headers with which a variant's code is that with all of them."""
    (phenotype,) = compiler.preprocess([Variant(1, text, {})]).values()
    whole = compiler.prepared(())
    assert isinstance(phenotype, Phenotype)
    assert whole is not None
    found = compiler.headers_in_reach(whole, [phenotype])
    assert found, "with less its code is another one"
    return found


def test_other_code_is_noticed(odd: Odd) -> None:
    phenotype = odd.compiler.preprocess([Variant(1, ODD, {})])[1]
    assert isinstance(phenotype, Phenotype)
    text = shard_text("", [phenotype])
    # The headers that it needs are whole here: compiling all of them takes long.
    whole = odd.whole.within_reach_of(identifiers(phenotype.text))
    slower = replace(whole, front=whole.front.replace("x / 2", "x / 4"))
    less = replace(whole, front=whole.front.replace("float half_of(float", "float of(float"))

    code = code_of(whole, text, room.COMPILE_LIMIT)
    assert code is not None

    def same(other: ShardSetup) -> bool:
        made = code_of(other, text, room.COMPILE_LIMIT)
        return made is not None and is_same(code, made, phenotype.ident)

    assert same(whole)
    assert not same(slower)
    assert not same(less)
    assert not same(odd.part)
    assert code_of(whole, "nonsense", room.COMPILE_LIMIT) is None


ALONE = """\
#include <algorithm>
#include <chrono>
#include <vector>
__global__ void k(float *data, int size) { if (size > 1) data[0] = data[1] + size; }
"""
WITH_STD = ALONE.replace("+ size", "+ std::is_floating_point_v<float>")
FLOAT = ALONE.replace("data[1] +", "abs(data[1]) +")


@pytest.mark.parametrize(("text", "most"), [(ALONE, 0.05), (WITH_STD, 0.5), (FLOAT, 0.5)])
def test_libraries_that_variants_do_not_name_are_left_out(
    toolkit: Toolkit, text: str, most: float, tmp_path: Path
) -> None:
    """The name `data` leads to half of the standard library. It stays where a variant needs it, as
    for an ``abs`` that is not that of whole numbers."""
    compiler = compiler_of(toolkit, text, tmp_path)
    whole, reached = compiler.prepared(()), part_of(compiler, text)
    assert whole is not None
    assert len(reached) < most * len(whole.front)
    assert ("_Tp" in reached) == (text != ALONE)
