"""Whose crash confirms another one's."""

from __future__ import annotations

from gi_cuda.genome import Delete, Insert, Replace
from gi_cuda.precedents import Precedents


def known(*edits: Delete | Replace | Insert) -> Precedents:
    precedents = Precedents()
    precedents.enter(7, edits)
    return precedents


def test_the_same_edit_beside_others_is_known() -> None:
    precedents = known(Delete("_k.cu_1"))
    assert precedents.of([Delete("_k.cu_9"), Delete("_k.cu_1")]) == 7
    assert precedents.of([Delete("_k.cu_9")]) is None
    assert precedents.of([]) is None


def test_a_line_may_be_taken_away_in_two_ways() -> None:
    precedents = known(Delete("_k.cu_1"))
    assert precedents.of([Replace("_k.cu_1", "_k.cu_2")]) == 7
    assert precedents.of([Insert("_k.cu_1", "_k.cu_2")]) is None


def test_a_line_is_known_wherever_it_is_put() -> None:
    precedents = known(Insert("_k.cu_1", "_k.cu_2"))
    assert precedents.of([Insert("_k.cu_1", "_k.cu_2")]) == 7
    assert precedents.of([Insert("_k.cu_8", "_k.cu_2")]) == 7
    assert precedents.of([Replace("_k.cu_8", "_k.cu_2")]) == 7
    assert precedents.of([Insert("_k.cu_1", "_k.cu_3")]) is None
    assert precedents.of([Delete("_k.cu_1")]) is None
    assert precedents.of([Delete("_k.cu_2")]) is None


def test_what_replaces_a_line_is_not_blamed_for_its_absence() -> None:
    precedents = known(Replace("_k.cu_1", "_k.cu_2"))
    assert precedents.of([Delete("_k.cu_1")]) == 7
    assert precedents.of([Insert("_k.cu_8", "_k.cu_2")]) is None


def test_which_of_two_edits_is_at_fault_is_not_known() -> None:
    precedents = known(Delete("_k.cu_1"), Delete("_k.cu_2"))
    assert precedents.of([Delete("_k.cu_1")]) is None


def test_the_first_witness_stays() -> None:
    precedents = known(Delete("_k.cu_1"))
    precedents.enter(8, [Delete("_k.cu_1")])
    assert precedents.of([Delete("_k.cu_1")]) == 7
