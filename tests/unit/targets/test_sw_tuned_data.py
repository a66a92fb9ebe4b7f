"""The pairs of sw_tuned: as requested, hard ones first, reproducible by seed."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gi_cuda.spec import defaults, find_case, load_case, load_target, plan

from .sw_tuned_alignment import NO_ALIGNMENT, Scores, align

FOLDER = Path(__file__).parents[3] / "targets" / "sw_tuned"


def load(name: str) -> SimpleNamespace:
    path = FOLDER / f"{name}.py"
    names = {"__name__": name, "__file__": str(path)}
    exec(compile(path.read_bytes(), str(path), "exec"), names)
    return SimpleNamespace(**names)


data = load("data")


def pairs_of(case: dict) -> list[tuple[list[int], list[int]]]:
    refs, queries = (
        np.split(case[name], case[starts][1:-1])
        for name, starts in (("refs", "ref_starts"), ("queries", "query_starts"))
    )
    return [(r.tolist(), q.tolist()) for r, q in zip(refs, queries, strict=True)]


def limits() -> st.SearchStrategy[tuple[int, int]]:
    return st.tuples(st.integers(1, 90), st.integers(1, 90)).map(lambda two: (min(two), max(two)))


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 99), st.integers(1, 40), limits(), limits())
def test_a_case_holds_what_was_asked_for(seed, count, ref, query):
    case = data.case(seed=seed, pairs=count, ref=ref, query=query)
    pairs = pairs_of(case)
    corners = len(data.corner_pairs(ref, query, np.random.default_rng(seed)))
    assert len(pairs) == count == case["n_pairs"]
    assert case["refs"].dtype == case["queries"].dtype == np.uint8
    assert case["ref_starts"].dtype == case["query_starts"].dtype == np.int32
    assert [case["ref_bases"], case["query_bases"]] == [
        sum(len(pair[side]) for pair in pairs) for side in (0, 1)
    ]
    assert max(max(r + q) for r, q in pairs) <= data.UNKNOWN
    assert case["most_short"] == max(min(len(r), len(q)) for r, q in pairs)
    assert case["most_long"] == max(max(len(r), len(q)) for r, q in pairs)
    for r, q in pairs[corners:]:
        assert ref[0] <= len(r) <= ref[1]
        assert query[0] <= len(q) <= query[1]


def test_the_same_seed_gives_the_same_pairs_and_another_one_others():
    first, again, other = (
        pairs_of(data.case(seed=seed, pairs=30, ref=(20, 30), query=(15, 25))) for seed in (4, 4, 5)
    )
    assert first == again
    assert sum(a != b for a, b in zip(first, other, strict=True)) > 20


@pytest.mark.parametrize("name", ["short", "short-turned", "short-long"])
def test_cases_have_pairs_that_are_hard(name):
    target = load_target(FOLDER)
    args = find_case(target, name).args
    case = data.case(**args)
    pairs = pairs_of(case)
    scores = Scores(*args.get("scores", ()))
    found = [align(r, q, scores) for r, q in pairs]
    assert found[0] == NO_ALIGNMENT
    assert any(len(set(r + q)) == 1 for r, q in pairs[1:])
    assert any(len(q) == 1 < len(r) for r, q in pairs)
    assert any(len(r) == 1 < len(q) for r, q in pairs)
    # Either sequence is the shorter one in some pair that fills a warp; some need two warps.
    assert any(32 <= len(r) < len(q) for r, q in pairs)
    assert any(32 <= len(q) < len(r) for r, q in pairs)
    assert sum(min(len(r), len(q)) > 32 for r, q in pairs) >= 2
    assert {31, 32, 33} <= {min(len(r), len(q)) for r, q in pairs}
    # Gaps in the alignment, in either sequence.
    longer = [a.ref_end - a.ref_begin - (a.query_end - a.query_begin) for a in found]
    assert min(longer) < 0 < max(longer)
    # Ties: the mirrored rule would give other answers.
    turned = [align(r[::-1], q[::-1], scores) for r, q in pairs]
    assert any(
        a.score > 0 and a.ref_end != len(r) - 1 - b.ref_begin
        for (r, _), a, b in zip(pairs, found, turned, strict=True)
    )


def test_train_and_held_out_differ_in_size_and_shape():
    target = load_target(FOLDER)
    seen = {}
    for case in target.cases:
        if "host" in case.backends:
            loaded = load_case(target, case)
            launches = plan(target, defaults(target), loaded.scalars)
            assert [launch.kernel for launch in launches] == ["sw_forward", "sw_reverse"]
            assert all(launch.grid[0] == loaded.scalars["n_pairs"] for launch in launches)
            seen[case.name] = (*launches[0].grid, *launches[0].block, launches[0].shared)
    assert len(set(seen.values())) == len(seen) == 4
    assert any(block[3] > 64 for block in seen.values())


def test_most_pairs_share_a_stretch_and_some_share_nothing():
    rng = np.random.default_rng(1)
    drawn = [data.draw_pair((60, 80), (30, 50), rng) for _ in range(150)]
    scores = [align(r.tolist(), q.tolist(), Scores()).score for r, q in drawn]
    assert np.mean(np.array(scores) > 30) > 0.7
    assert min(scores) < 25
    assert any((r == data.UNKNOWN).any() and (q == data.UNKNOWN).any() for r, q in drawn)
