"""Nothing is compiled twice: real compilers behind a cache, and what comes out of it again."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.compile.caching.cached import CachedCompiler, keeping
from gi_cuda.backends.compile.caching.code_cache import CodeCache
from gi_cuda.backends.cuda.backend import cuda_compiler
from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.host.build.compiler import HostCompiler
from gi_cuda.backends.host.build.library import find_compiler
from gi_cuda.backends.protocol.programs import Program
from gi_cuda.backends.protocol.requests import (
    Record,
    Recorded,
)
from gi_cuda.backends.protocol.variants import (
    Binary,
    BlockSize,
    BuildFailure,
    Built,
    Compiler,
    Phenotype,
    Variant,
)
from gi_cuda.backends.table import open_compiler
from gi_cuda.errors import MachineError
from gi_cuda.runs.tools import open_tools
from gi_cuda.subject import load_subject
from tests.sweeps import broad

TARGETS = Path(__file__).parents[2] / "targets"

KERNEL = '#include "own.hpp"\n__global__ void k(int *out) { out[threadIdx.x] = OWN + NUMBER; }\n'


def quiet(said: str) -> None:
    raise AssertionError(said)


@pytest.fixture
def cache(tmp_path: Path) -> CodeCache:
    return CodeCache(tmp_path / "code", 2**30, quiet)


def host(folder: Path, options: Sequence[str] = ("-O1",), shares: bool = True) -> HostCompiler:
    """A compiler of a kernel with a header in a folder."""
    (folder / "own.hpp").touch()
    return HostCompiler(
        cxx=find_compiler(),
        file_name="k.cu",
        front='#include "own.hpp"\n',
        options=(*options, f"-I{folder}"),
        jobs=2,
        kernels=("k",),
        shares=shares,
    )


def variants(numbers: Sequence[int], first: int = 1) -> list[Variant]:
    """Each adds another number to what the header says; they are called as they come."""
    return [
        Variant(i, KERNEL, {"OWN": "1", "NUMBER": str(n)}) for i, n in enumerate(numbers, first)
    ]


def compiled(folder: Path) -> bool:
    """Tell whether a compiler worked in a folder; it leaves sources there."""
    return any(folder.rglob("*.c*"))


def plain(built: Built) -> object:
    """Return a built variant without its number and its path."""
    if isinstance(built, Binary):
        return replace(built, ident=0, path=Path(), compiled_as=None)
    return replace(built, ident=0)


def outputs(cache: CodeCache | None, folder: Path, first: int) -> list[Mapping[str, Any]]:
    """Return the answers of a target's variants under several configurations."""
    subject = load_subject(TARGETS / "scale", "host")
    configurations = [{**subject.space.default, "BLOCK": block} for block in (32, 64, 128)]
    found = []
    with open_tools(subject, folder, workers=1, jobs=2, cache=cache) as tools:
        batch = [
            Variant(i, subject.reference, subject.macros(c))
            for i, c in enumerate(configurations, first)
        ]
        built = build_batch(tools.compiler, batch, folder / "batch")
        for ident, configuration in enumerate(configurations, first):
            binary = built[ident]
            assert isinstance(binary, Binary), binary
            program = Program(binary, configuration, ("train",))
            answer = tools.pool.one(Record(program, tools.reference, 1, 60.0))
            assert isinstance(answer, Recorded), answer
            with np.load(tools.reference / "train.npz") as stacks:
                found.append({name: stacks[name][0] for name in stacks})
        assert compiled(folder / "batch") == (first == 1)
    return found


def test_what_comes_from_the_cache_answers_as_what_was_compiled(
    tmp_path: Path, cache: CodeCache
) -> None:
    expected = outputs(None, tmp_path / "plain", 1)
    for folder, first in (("first", 1), ("second", 7), ("third", 70)):
        for one, other in zip(outputs(cache, tmp_path / folder, first), expected, strict=True):
            assert one.keys() == other.keys()
            for name in one:
                np.testing.assert_array_equal(one[name], other[name])


def test_code_keys_and_messages_are_what_they_were(tmp_path: Path, cache: CodeCache) -> None:
    first = build_batch(keeping(host(tmp_path), cache), variants([1, 2, 3]), tmp_path / "a")
    wrong = Variant(9, KERNEL.replace("OWN", "missing"), {"NUMBER": "1"})
    failed = build_batch(keeping(host(tmp_path), cache), [wrong], tmp_path / "b")[9]
    assert isinstance(failed, BuildFailure)
    again = [*variants([3, 4, 1], first=20), replace(wrong, ident=30)]
    second = build_batch(CachedCompiler(host(tmp_path), cache), again, tmp_path / "c")
    assert plain(second[20]) == plain(first[3])
    assert plain(second[22]) == plain(first[1])
    assert plain(second[30]) == plain(failed)
    new = second[21]
    assert isinstance(new, Binary)
    assert new.namespace == "v21"
    known = second[20]
    assert isinstance(known, Binary)
    assert known.namespace == "v3"
    (source,) = (tmp_path / "c").glob("*.cpp")
    assert [f"v{i}" in source.read_text() for i in (20, 21, 22, 30)] == [False, True, False, False]
    assert (cache.usage().hits, cache.usage().misses) == (3, 5)


def test_files_of_one_process_have_names_of_their_own(tmp_path: Path, cache: CodeCache) -> None:
    compiler = keeping(host(tmp_path), cache)
    paths = [
        {one.path for one in compiler.compile(phenotypes(compiler, [1, 2]), tmp_path / "a")}
        for _ in range(3)
    ]
    assert len(set().union(*paths)) == sum(map(len, paths))
    assert all(path.stat().st_size for some in paths for path in some)


def phenotypes(compiler: Compiler, numbers: Sequence[int]) -> list[Phenotype]:
    found = compiler.preprocess(variants(numbers)).values()
    return [one for one in found if isinstance(one, Phenotype)]


@pytest.mark.parametrize(
    "change",
    [
        lambda one, folder: (folder / "own.hpp").write_text("inline int changed() { return 1; }"),
        lambda one, folder: replace(one, options=("-O2", f"-I{folder}")),
        lambda one, folder: replace(one, options=("-O1", f"-I{folder}", "-march=native")),
        lambda one, folder: replace(one, front=f"{one.front}static int more;\n"),
        lambda one, folder: replace(one, namespaces=("more",)),
    ],
    ids=["header", "options", "processor", "prelude", "namespaces"],
)
def test_what_decides_the_code_is_part_of_the_key(
    tmp_path: Path, cache: CodeCache, change: Any
) -> None:
    one = host(tmp_path)
    (before,) = keys(one, cache, variants([1]))
    assert keys(one, cache, variants([1])) == [before]
    other = change(one, tmp_path)
    (after,) = keys(other if isinstance(other, HostCompiler) else one, cache, variants([1]))
    assert None not in (before, after)
    assert after != before


def keys(compiler: Compiler, cache: CodeCache, batch: Sequence[Variant]) -> list[bytes | None]:
    """The keys under which the code of variants is kept."""
    found = compiler.preprocess(batch).values()
    kept = CachedCompiler(compiler, cache)
    return kept.keys([one for one in found if isinstance(one, Phenotype)])


def test_where_a_target_lies_decides_nothing(tmp_path: Path, cache: CodeCache) -> None:
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        build_batch(keeping(host(tmp_path / name), cache), variants([1]), tmp_path / name / "b")
    assert compiled(tmp_path / "here" / "b")
    assert not compiled(tmp_path / "there" / "b")


def test_white_space_in_a_literal_is_no_white_space(tmp_path: Path, cache: CodeCache) -> None:
    text = '__global__ void k(int *out) { out[0] = "a b"[1] + sizeof "a b"; }'
    texts = [text, text.replace('"a b"', '"a\\tb"', 1), text.replace("a b", "a  b")]
    batch = [Variant(number, one, {}) for number, one in enumerate(texts)]
    assert len(set(keys(host(tmp_path), cache, batch))) == 3


def test_each_copy_has_a_place_of_its_own(tmp_path: Path, cache: CodeCache) -> None:
    def built(compiler: Compiler, numbers: Sequence[int], folder: Path) -> list[tuple[str, bytes]]:
        found = build_batch(compiler.apart(), variants(numbers), folder).values()
        binaries = [one for one in found if isinstance(one, Binary)]
        return sorted((one.namespace, one.path.read_bytes()) for one in binaries)

    compiler = keeping(host(tmp_path), cache)
    first = built(compiler, [1, 1, 2, 1, 2], tmp_path / "a")
    assert len(set(first)) == 5
    assert built(compiler, [1, 1, 2, 1, 2], tmp_path / "b") == first
    assert not compiled(tmp_path / "b")
    # Another batch is another, whatever is in it.
    built(compiler, [1, 2, 1, 1, 2], tmp_path / "c")
    assert compiled(tmp_path / "c")
    build_batch(compiler, variants([1, 2]), tmp_path / "d")
    assert compiled(tmp_path / "d")


def test_what_is_damaged_or_gone_is_compiled_again(tmp_path: Path, cache: CodeCache) -> None:
    first = build_batch(keeping(host(tmp_path), cache), variants([1, 2]), tmp_path / "a")
    for change in (
        "UPDATE Cache SET value = zeroblob(length(value)) WHERE substr(key, 1, 1) = x'66'",
        "DELETE FROM Cache WHERE substr(key, 1, 1) = x'66'",
        "UPDATE Cache SET value = zeroblob(length(value))",
    ):
        with sqlite3.connect(cache.folder / "cache.db") as database:
            assert database.execute(change).rowcount
        database.close()
        again = build_batch(keeping(host(tmp_path), cache), variants([1, 2]), tmp_path / "b")
        assert {i: plain(one) for i, one in again.items()} == {
            i: plain(one) for i, one in first.items()
        }
        assert compiled(tmp_path / "b")


def test_a_cache_that_cannot_be_used_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said: list[str] = []
    broken = CodeCache(tmp_path / "file" / "code", 2**30, said.append)
    compiler = keeping(host(tmp_path), broken)
    for folder in ("a", "b"):
        built = build_batch(compiler, variants([1, 2]), tmp_path / folder)
        assert all(isinstance(one, Binary) for one in built.values())
        assert compiled(tmp_path / folder)
    assert len(said) == 1


def test_what_a_full_machine_says_is_not_kept(tmp_path: Path, cache: CodeCache) -> None:
    text = KERNEL + '#pragma GCC error "No space left on device"\n'
    for folder in ("a", "b"):
        batch = [Variant(1, text, {"OWN": "1", "NUMBER": "1"})]
        with pytest.raises(MachineError, match="the disk is full"):
            build_batch(keeping(host(tmp_path), cache), batch, tmp_path / folder)
    assert cache.usage().hits == 0


_SEARCH = """
import sys
from pathlib import Path
from gi_cuda.backends.compile.caching import cached
from gi_cuda.backends.compile.caching.cached import keeping
from gi_cuda.backends.compile.caching.code_cache import CodeCache
from gi_cuda.backends.compile.shards import Sizes
from dataclasses import replace
from tests.integration.backends.test_cached_compiler import host, phenotypes
folder = Path(sys.argv[1])
cache = CodeCache(folder / "code", 2**30, print)
compiler = keeping(replace(host(folder), sizes=Sizes(1, 2)), cache)
cached.OFTEN = 0.0
for one in compiler.compile(phenotypes(compiler, range(200)), folder / "killed"):
    print(one.ident, flush=True)
"""


@broad
def test_killed_in_the_middle_of_compiling(tmp_path: Path, cache: CodeCache) -> None:
    command = [sys.executable, "-c", _SEARCH, str(tmp_path)]
    root = Path(__file__).parents[3]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as search:
        assert search.stdout is not None
        idents = [int(search.stdout.readline()) for _ in range(6)]
        search.kill()
        idents += map(int, search.stdout.read().split())
    assert search.returncode == -signal.SIGKILL
    assert len(idents) < 200
    compiler = keeping(host(tmp_path), cache)
    ready = [one for one in phenotypes(compiler, range(200)) if one.ident in idents]
    again = list(compiler.compile(ready, tmp_path / "again"))
    assert sorted(one.ident for one in again) == sorted(idents)
    assert all(isinstance(one, Binary) for one in again)
    assert not compiled(tmp_path / "again")


def test_cubins(tmp_path: Path, cache: CodeCache, toolkit: Toolkit) -> None:
    subject = load_subject(TARGETS / "scale", "cuda")
    compiler = keeping(cuda_compiler(subject, 2, toolkit, "sm_90"), cache)
    macros = [subject.macros({**subject.space.default, "REPEAT": n}) for n in (1, 2, 1)]

    def built(folder: str, first: int) -> list[Built]:
        batch = [Variant(i, subject.reference, one) for i, one in enumerate(macros, first)]
        found = build_batch(compiler, batch, tmp_path / folder)
        return [found[ident] for ident in sorted(found)]

    first, again = built("a", 1), built("b", 50)
    assert not list((tmp_path / "b").glob("*.ptx"))
    for one, other in zip(first, again, strict=True):
        assert isinstance(one, CudaBinary)
        assert isinstance(other, CudaBinary)
        assert plain(one) == plain(other)
        assert one.kernels
        assert one.path.read_bytes() == other.path.read_bytes()
        blocks = {"scale": BlockSize(64, 0)}
        assert compiler.inspect(one, blocks) == compiler.inspect(other, blocks)
    fresh = open_compiler(subject, 2)
    assert compiler.identity(()) == fresh.identity(())
    assert compiler.identity(()) != fresh.identity(("-maxrregcount=32",))
    other_gpu = cuda_compiler(subject, 2, toolkit, "sm_80")
    assert compiler.identity(()) != other_gpu.identity(())
