"""Repair: the right part of a wrong individual."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from gi_cuda.analyze.finalists.repair import narrowed, right_part, wrong_part

CULPRITS = st.lists(st.sets(st.integers(0, 29), min_size=1, max_size=3), max_size=3)
"""Sets of positions that are wrong together."""


@given(st.integers(0, 30), CULPRITS, st.integers(0, 100))
def test_what_is_kept_is_right(count: int, culprits: list[set[int]], looks: int) -> None:
    asked: list[Sequence[int]] = []

    def is_right(some: Sequence[int]) -> bool:
        asked.append(some)
        return not any(one <= set(some) for one in culprits)

    kept = right_part(range(count), is_right, looks)
    assert is_right(kept)
    assert len(asked) - 1 <= looks
    if looks == 100:
        # Nothing can be put back: each of the others completes a set.
        assert not any(is_right(sorted([*kept, one])) for one in set(range(count)) - set(kept))


def test_one_that_is_wrong_by_itself_takes_few_looks() -> None:
    asked: list[Sequence[int]] = []

    def is_right(some: Sequence[int]) -> bool:
        asked.append(some)
        return 13 not in some

    assert right_part(range(24), is_right) == [at for at in range(24) if at != 13]
    assert len(asked) <= 11


class Asked:
    """Says which of some parts are wrong, and counts how often it is asked.

    Args:
        most: so many parts it may be asked of at once.
    """

    def __init__(self, culprits: Sequence[set[int]], most: int = 30) -> None:
        self._culprits, self._most, self.looks = culprits, most, 0

    def is_wrong(self, some: Sequence[int]) -> bool:
        return any(one <= set(some) for one in self._culprits)

    def are_wrong(self, parts: Sequence[Sequence[int]]) -> list[bool]:
        self.looks += 1
        assert len(parts) <= self._most
        return list(map(self.is_wrong, parts))


@given(st.integers(0, 30), CULPRITS, st.integers(2, 5))
def test_the_part_that_is_found_wrong_is_wrong(
    count: int, culprits: list[set[int]], ways: int
) -> None:
    asked = Asked(culprits, ways)
    found = wrong_part(range(count), asked.are_wrong, ways)
    assert asked.looks <= 1 + 2 * count.bit_length()
    assert asked.is_wrong(found) == bool(found) == asked.is_wrong(range(count))
    alone = {at for one in culprits if len(one) == 1 for at in one if at < count}
    if alone and all(len(one) == 1 for one in culprits):
        assert len(found) == 1
        assert set(found) <= alone


@given(st.integers(1, 30), CULPRITS, st.integers(0, 40))
def test_what_is_narrowed_is_wrong_still_and_with_time_nothing_of_it_can_be_left_out(
    count: int, culprits: list[set[int]], rounds: int
) -> None:
    asked = Asked(culprits)
    whole = list(range(count))
    found = narrowed(whole, asked.are_wrong, rounds)
    assert asked.looks <= 2 * rounds
    assert set(found) <= set(whole)
    assert asked.is_wrong(found) == asked.is_wrong(whole)
    if asked.is_wrong(whole) and rounds == 40:
        assert not any(asked.is_wrong([one for one in found if one != out]) for out in found)


def test_two_that_are_wrong_together_are_found_among_many_in_two_rounds() -> None:
    are_wrong = Asked([{3, 12}]).are_wrong
    assert wrong_part(range(16), are_wrong) == list(range(16))
    assert narrowed(range(16), are_wrong, 2) == [3, 12]
