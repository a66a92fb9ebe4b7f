"""The pairs of sw_naive, and the alignment that its kernels are compared with."""

from itertools import groupby
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.spec import find_case, load_case, load_target

from .sw_naive_alignment import trace
from .sw_tuned_alignment import Scores, align, substitution

FOLDER = Path(__file__).parents[3] / "targets" / "sw_naive"
SEQUENCES = st.lists(st.sampled_from([0, 1, 4]), min_size=1, max_size=9)
SCORES = st.integers(1, 3).flatmap(
    lambda extend: st.builds(
        Scores, st.integers(1, 5), st.integers(1, 4), st.integers(extend, 6), st.just(extend)
    )
)


@given(SEQUENCES, SEQUENCES, SCORES)
def test_a_traced_alignment_is_a_best_one(ref, query, scores):
    found, columns = trace(ref, query, scores)
    best = align(ref, query, scores)
    assert (found.score, found.ref_end, found.query_end) == (
        best.score,
        best.ref_end,
        best.query_end,
    )
    pairs = [(a, b) for a, b in columns if a >= 0 <= b]
    gaps = [
        len(list(run))
        for side, run in groupby(columns, lambda c: (c[0] < 0, c[1] < 0))
        if any(side)
    ]
    score = sum(substitution(ref[a], query[b], scores) for a, b in pairs)
    score -= sum(scores.gap_open + (size - 1) * scores.gap_extend for size in gaps)
    assert score == found.score
    for side, begin, end in (
        (0, found.ref_begin, found.ref_end),
        (1, found.query_begin, found.query_end),
    ):
        used = [column[side] for column in columns if column[side] >= 0]
        assert used == (list(range(begin, end + 1)) if found.score else [])


@pytest.mark.parametrize("name", ["short", "short-turned", "short-long"])
def test_cases_have_pairs_that_are_hard(name):
    case = load_case(load_target(FOLDER), find_case(load_target(FOLDER), name)).values
    scores = Scores(*(int(case[k]) for k in ("match", "mismatch", "gap_open", "gap_extend")))
    refs, queries = (
        [s.tolist() for s in np.split(case[n], case[k][1:-1])]
        for n, k in (("refs", "ref_starts"), ("queries", "query_starts"))
    )
    found = [trace(r, q, scores) for r, q in zip(refs, queries, strict=True)]
    assert any(one.score == 0 for one, _ in found)
    assert any(len(q) == 1 for q in queries)
    assert any(len(r) == 1 for r in refs)
    # Gaps of more than one base in either sequence; bases that differ within alignments.
    for side in (0, 1):
        assert any(
            len(list(run)) > 1
            for _, columns in found
            for gap, run in groupby(columns, lambda c, s=side: c[s] < 0)
            if gap
        )
    assert any(one.equal < sum(a >= 0 <= b for a, b in columns) for one, columns in found)
    # A block of one warp would not do for all queries, and not all fill theirs.
    assert min(map(len, queries)) < 32 < max(map(len, queries))


def test_the_same_seed_gives_the_same_pairs():
    target = load_target(FOLDER)
    one, again = (load_case(target, find_case(target, "short")).values for _ in range(2))
    other = load_case(target, find_case(target, "short-long")).values
    assert np.array_equal(one["refs"], again["refs"])
    assert one["refs"].tobytes()[:99] != other["refs"].tobytes()[:99]
