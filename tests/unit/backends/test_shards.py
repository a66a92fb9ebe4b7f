"""Splitting batches into shards, and assigning errors to variants."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Barrier

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.backends.compile.compiler_slots import CompilerSlots, Turns
from gi_cuda.backends.compile.process import CompilerKilled, Finished
from gi_cuda.backends.compile.shards import Sizes, attribute, cut
from gi_cuda.backends.compile.shards import build as build_shards
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Built, Phenotype

build = partial(build_shards, sizes=Sizes(4, 8))

OPTIONS = st.lists(st.sampled_from([(), ("-O3",), ("-maxrregcount=32",)]), min_size=1, max_size=60)


def phenotype(ident: int, text: str = "", options: tuple[str, ...] = ()) -> Phenotype:
    return Phenotype(ident, text, options, b"")


@given(OPTIONS, st.integers(1, 16), st.integers(1, 20), st.integers(1, 20), st.integers(0, 16))
def test_shards_hold_every_variant_once_and_never_mix_options(
    options: list[tuple[str, ...]], jobs: int, smallest: int, largest: int, busy: int
) -> None:
    batch = [phenotype(i, options=o) for i, o in enumerate(options)]
    shards = cut(batch, jobs, Sizes(smallest, largest), min(busy, jobs))
    assert sorted(p.ident for shard in shards for p in shard) == list(range(len(batch)))
    assert all(len({p.options for p in shard}) == 1 for shard in shards)
    assert all(1 <= len(shard) <= largest for shard in shards)


def test_the_shards_of_a_large_batch_grow_and_shrink() -> None:
    """Binaries come soon, and then at any moment; all jobs end at about the same time."""
    sizes = list(Sizes(smallest=4, largest=16, first=1).of(1000, 16))
    assert sum(sizes) == 1000
    assert sizes[:32] == [1, 1, 1, *(n // 2 for n in range(4, 32)), 16]
    middle = sizes.index(15, 32)
    assert set(sizes[32:middle]) == {16}
    assert sizes[middle:] == sorted(sizes[middle:], reverse=True)
    assert sizes[-16:-1] == [4] * 15


def test_where_nothing_runs_before_all_is_compiled_only_the_last_shards_are_small() -> None:
    sizes = list(Sizes(smallest=16, largest=32).of(200, 2))
    assert sum(sizes) == 200
    assert sizes == [32, 32, 32, 32, 32, 20, 16, 4]


@pytest.mark.parametrize(
    ("number", "expected"), [(3, [1, 1, 1]), (20, [5, 5, 5, 5]), (30, [8, 8, 7, 7])]
)
def test_a_small_batch_is_shared_out_evenly(number: int, expected: list[int]) -> None:
    assert list(Sizes(smallest=4, largest=16).of(number, 4)) == expected


@pytest.mark.parametrize(
    ("number", "expected"), [(3, [1, 1, 1]), (12, [1] * 4 + [2] * 4), (20, [2] * 4 + [3] * 4)]
)
def test_a_part_of_a_small_batch_may_go_ahead_of_the_rest(number: int, expected: list[int]) -> None:
    """So that there is something to be run while the rest is compiled."""
    assert list(Sizes(smallest=4, largest=16, ahead=1 / 3).of(number, 4)) == expected


@pytest.mark.parametrize(
    ("number", "busy", "expected"),
    [(3, 8, [3]), (3, 3, [2, 1]), (3, 2, [1, 1, 1]), (9, 8, [3, 3, 3]), (40, 8, [5] * 8)],
)
def test_beside_others_a_small_batch_shares_what_a_process_costs(
    number: int, busy: int, expected: list[int]
) -> None:
    assert list(Sizes(smallest=4, largest=16).of(number, 8, busy)) == expected


@pytest.mark.parametrize(
    ("characters", "expected"), [(500_000, [4] * 16), (4_500_000, [16] * 4), (20_000_000, [32] * 2)]
)
def test_behind_a_long_prelude_shards_are_larger(characters: int, expected: list[int]) -> None:
    sizes = Sizes(smallest=4, largest=16).behind(characters)
    assert list(sizes.of(64, 16, busy=14)) == expected


def test_beside_others_nothing_need_go_ahead() -> None:
    sizes = Sizes(smallest=4, largest=16, ahead=1 / 3)
    assert list(sizes.of(30, 8, busy=8)) == [4] * 6 + [3] * 2


@pytest.mark.parametrize(("at_a_time", "sizes"), [(1, [1, 1, 1, 1]), (2, [4])])
def test_a_batch_that_comes_while_much_is_compiled_has_fewer_shards(
    at_a_time: int, sizes: list[int], tmp_path: Path
) -> None:
    at_work, seen = CompilerSlots(), list[int]()

    def compile_shard(shard: Sequence[Phenotype], path: Path) -> Finished:
        seen.append(len(shard))
        return Finished(0, "", "")

    with ExitStack() as others:
        for _ in range(at_a_time):
            others.enter_context(at_work.one(4))
        batch = [phenotype(ident) for ident in range(4)]
        built = build_shards(
            batch,
            tmp_path,
            compile_shard,
            lambda some, _: some,
            sizes=Sizes(4, 8),
            turns=Turns(at_work, 4),
        )
        assert len(list(built)) == 4
    assert seen == sizes


def test_the_shards_that_are_compiled_at_the_moment_are_counted(tmp_path: Path) -> None:
    at_work, seen, together = CompilerSlots(), list[int](), Barrier(2, timeout=60.0)

    def compile_shard(shard: Sequence[Phenotype], path: Path) -> Finished:
        together.wait()
        seen.append(at_work.number)
        together.wait()
        return Finished(0, "", "")

    def collect(shard: Sequence[Phenotype], path: Path) -> Sequence[Binary]:
        return []

    batch = [phenotype(0), phenotype(1)]
    built = build(batch, tmp_path, compile_shard, collect, turns=Turns(at_work, 2))
    assert list(built) == []
    assert seen == [2, 2]
    assert at_work.number == 0


def test_the_first_of_a_batch_is_in_its_first_shard() -> None:
    shards = cut([phenotype(i) for i in range(500)], 7, Sizes(4, 16))
    assert 0 in [p.ident for p in shards[0]]


def test_what_comes_first_is_compiled_first_and_neighbours_apart() -> None:
    shards = cut([phenotype(i) for i in range(1000)], 16, Sizes(4, 16, first=1))
    at = {p.ident: number for number, shard in enumerate(shards) for p in shard}
    assert max(at[i] for i in range(60)) < 16
    assert sum(at[i] == at[i + 1] for i in range(999)) < 50


def test_messages_of_both_compilers_are_attributed_to_the_variant_and_its_line() -> None:
    stderr = (
        "v7/kernel.cu: In function 'void f()':\n"
        "v7/kernel.cu:12:5: error: 'x' was not declared in this scope\n"
        "v7/kernel.cu:13:5: error: and another\n"
        'v9/kernel.cu(40): error: identifier "y" is undefined\n'
        "v10/kernel.cu:3:1: fatal error: stop\n"
        "v11/kernel.cu:3:1: warning: no error\n"
    )
    assert attribute(stderr) == {
        7: "kernel.cu:12: 'x' was not declared in this scope",
        9: 'kernel.cu:40: identifier "y" is undefined',
        10: "kernel.cu:3: stop",
    }


@pytest.mark.parametrize("named", [True, False], ids=["named in messages", "never named"])
def test_guilty_variants_are_removed_and_all_others_built(tmp_path: Path, named: bool) -> None:
    """A compiler that chokes on some variants, and says which or does not."""
    guilty = {3, 11, 12}

    def compile_shard(shard: Sequence[Phenotype], path: Path) -> Finished:
        bad = [p.ident for p in shard if p.ident in guilty]
        if not bad:
            return Finished(0, "", "")
        lines = [f"v{i}/k.cu:1:1: error: no" if named else "internal error" for i in bad]
        return Finished(1, "", "\n".join(lines))

    def collect(shard: Sequence[Phenotype], path: Path) -> list[Built]:
        return [Binary(p.ident, path) for p in shard]

    batch = [phenotype(i) for i in range(20)]
    built = list(build(batch, tmp_path, compile_shard, collect, turns=Turns(CompilerSlots(), 2)))
    assert sorted(one.ident for one in built) == list(range(20))
    failures = [one for one in built if isinstance(one, BuildFailure)]
    assert {failure.ident for failure in failures} == guilty
    assert {failure.message for failure in failures} == {
        "k.cu:1: no" if named else "internal error"
    }


@pytest.mark.parametrize("bombs", [{3, 11}, set(range(20))], ids=["some", "all"])
def test_a_compiler_that_is_killed_is_no_verdict_unless_it_compiles_others(
    tmp_path: Path, bombs: set[int]
) -> None:
    def compile_shard(shard: Sequence[Phenotype], path: Path) -> Finished:
        if any(p.ident in bombs for p in shard):
            raise CompilerKilled("a compiler was killed")
        return Finished(0, "", "")

    def collect(shard: Sequence[Phenotype], path: Path) -> list[Built]:
        return [Binary(p.ident, path) for p in shard]

    batch = [phenotype(i) for i in range(20)]
    found = build(batch, tmp_path, compile_shard, collect, turns=Turns(CompilerSlots(), 2))
    if len(bombs) == len(batch):
        with pytest.raises(CompilerKilled):
            list(found)
        return
    built = list(found)
    assert sorted(one.ident for one in built) == list(range(20))
    assert {one.ident for one in built if isinstance(one, BuildFailure)} == bombs


def test_nothing_is_blamed_before_it_failed_in_the_other_way_too(tmp_path: Path) -> None:
    """A way of compiling that fails for some variants without need; one is really broken."""
    needless, broken = {3, 11}, 12
    retried: list[list[int]] = []

    def quick(shard: Sequence[Phenotype], path: Path) -> Finished:
        bad = [p.ident for p in shard if p.ident in {*needless, broken}]
        lines = [f"v{i}/k.cu:1:1: error: unknown" for i in bad if i != 11]
        return Finished(1, "", "\n".join(lines)) if bad else Finished(0, "", "")

    def thorough(shard: Sequence[Phenotype], path: Path) -> Finished:
        retried.append([p.ident for p in shard])
        said = f"v{broken}/k.cu:7:1: error: broken" if broken in retried[-1] else ""
        return Finished(1 if said else 0, "", said)

    def collect(shard: Sequence[Phenotype], path: Path) -> list[Built]:
        return [Binary(p.ident, path) for p in shard]

    batch = [phenotype(i) for i in range(20)]
    built = list(
        build(batch, tmp_path, quick, collect, turns=Turns(CompilerSlots(), 1), again=thorough)
    )
    assert sorted(one.ident for one in built) == list(range(20))
    failures = [one for one in built if isinstance(one, BuildFailure)]
    assert failures == [BuildFailure(broken, "k.cu:7: broken")]
    # All that failed at once, then without what is broken.
    assert [sorted(idents) for idents in retried] == [[3, 11, 12], [3, 11]]


def test_what_runs_into_its_limit_is_not_tried_in_the_other_way(tmp_path: Path) -> None:
    def never_ends(shard: Sequence[Phenotype], path: Path) -> Finished:
        return Finished(None, "", "")

    def thorough(shard: Sequence[Phenotype], path: Path) -> Finished:
        raise AssertionError("as slow again")

    def collect(shard: Sequence[Phenotype], path: Path) -> list[Built]:
        return [Binary(p.ident, path) for p in shard]

    batch = [phenotype(0)]
    built = list(
        build(batch, tmp_path, never_ends, collect, turns=Turns(CompilerSlots(), 1), again=thorough)
    )
    assert built == [BuildFailure(0, "the compiler did not end within its limit")]
