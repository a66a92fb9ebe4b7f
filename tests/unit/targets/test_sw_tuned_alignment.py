"""The alignment that sw_tuned is compared with, checked against all alignments."""

from hypothesis import given, settings
from hypothesis import strategies as st

from .sw_tuned_alignment import NO_ALIGNMENT, Alignment, Scores, align, align_by_trying

SEQUENCES = st.lists(st.sampled_from([0, 1, 4]), min_size=1, max_size=4)
SCORES = st.integers(1, 3).flatmap(
    lambda extend: st.builds(
        Scores, st.integers(1, 5), st.integers(1, 4), st.integers(extend, 6), st.just(extend)
    )
)


@settings(deadline=None, max_examples=60)
@given(SEQUENCES, SEQUENCES, SCORES)
def test_it_is_the_best_of_all_alignments(ref, query, scores):
    assert align(ref, query, scores) == align_by_trying(ref, query, scores)


def test_a_gap_is_opened_once_and_extended():
    ref = [0, 1, 2, 3, 0, 1, 2, 3, 0, 0]
    query = [*ref[:4], 2, 2, 2, *ref[4:]]
    assert align(ref, query, Scores()) == Alignment(30 - 8, 0, 9, 0, 12)


def test_of_equal_alignments_the_first_end_and_the_last_begin_count():
    assert align([2, 2, 2], [2], Scores()) == Alignment(3, 0, 0, 0, 0)
    assert align([2], [1, 2, 2], Scores()) == Alignment(3, 0, 0, 1, 1)
    # ACA in the reference scores 3 - 3 + 3 from its first base, and 3 from its last one.
    assert align([0, 1, 0], [0, 2, 0], Scores()) == Alignment(3, 0, 0, 0, 0)
    assert align([0, 1, 0, 0], [0, 2, 0, 0], Scores()) == Alignment(6, 2, 3, 2, 3)


def test_nothing_matches():
    assert align([0, 0], [1], Scores()) == NO_ALIGNMENT
    assert align([4], [4], Scores()) == NO_ALIGNMENT
