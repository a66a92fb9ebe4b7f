"""Prediction of variants that will be right."""

from __future__ import annotations

from gi_cuda.evaluate.batches.experience.likely_right import LikelyRight
from gi_cuda.genome import Delete

ONE, TWO, THREE = (Delete(f"kernel.cu_{line}") for line in (1, 2, 3))


def test_those_whose_edits_were_all_in_right_ones() -> None:
    likely = LikelyRight()
    assert not likely.is_right([ONE])
    likely.enter([ONE, TWO], right=True)
    assert likely.is_right([ONE])
    assert likely.is_right([TWO, ONE])
    assert not likely.is_right([ONE, THREE])
    assert not likely.is_right([]), "another configuration says nothing of edits"


def test_what_was_wrong_proves_nothing() -> None:
    likely = LikelyRight()
    likely.enter([ONE], right=False)
    assert not likely.is_right([ONE])


def test_the_rule_is_not_believed_where_it_is_seldom_so() -> None:
    likely = LikelyRight()
    likely.enter([ONE], right=True)
    likely.enter([TWO], right=True)
    likely.enter([ONE, TWO], right=False)
    assert not likely.is_right([ONE]), "of one that it spoke of it was wrong"
    for _ in range(3):
        likely.enter([ONE], right=True)
    assert likely.is_right([TWO])
