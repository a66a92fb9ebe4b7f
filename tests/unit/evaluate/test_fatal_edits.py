"""Confirmation of a crash by an earlier crash with the same edit."""

from __future__ import annotations

from gi_cuda.evaluate.batches.experience.fatal_edits import FatalEdits
from gi_cuda.genome import Delete, Edit, Insert, Replace
from tests.swap import Swap


def known(*edits: Edit) -> FatalEdits:
    fatal_edits = FatalEdits()
    fatal_edits.enter(7, edits)
    return fatal_edits


def test_the_same_edit_beside_others_is_known() -> None:
    fatal_edits = known(Delete("_k.cu_1"))
    assert fatal_edits.of([Delete("_k.cu_9"), Delete("_k.cu_1")]) == 7
    assert fatal_edits.of([Delete("_k.cu_9")]) is None
    assert fatal_edits.of([]) is None


def test_a_line_may_be_taken_away_in_two_ways() -> None:
    fatal_edits = known(Delete("_k.cu_1"))
    assert fatal_edits.of([Replace("_k.cu_1", "_k.cu_2")]) == 7
    assert fatal_edits.of([Insert("_k.cu_1", "_k.cu_2")]) is None


def test_a_line_is_known_wherever_it_is_put() -> None:
    fatal_edits = known(Insert("_k.cu_1", "_k.cu_2"))
    assert fatal_edits.of([Insert("_k.cu_1", "_k.cu_2")]) == 7
    assert fatal_edits.of([Insert("_k.cu_8", "_k.cu_2")]) == 7
    assert fatal_edits.of([Replace("_k.cu_8", "_k.cu_2")]) == 7
    assert fatal_edits.of([Insert("_k.cu_1", "_k.cu_3")]) is None
    assert fatal_edits.of([Delete("_k.cu_1")]) is None
    assert fatal_edits.of([Delete("_k.cu_2")]) is None


def test_what_replaces_a_line_is_not_blamed_for_its_absence() -> None:
    fatal_edits = known(Replace("_k.cu_1", "_k.cu_2"))
    assert fatal_edits.of([Delete("_k.cu_1")]) == 7
    assert fatal_edits.of([Insert("_k.cu_8", "_k.cu_2")]) is None


def test_which_of_two_edits_is_at_fault_is_not_known() -> None:
    fatal_edits = known(Delete("_k.cu_1"), Delete("_k.cu_2"))
    assert fatal_edits.of([Delete("_k.cu_1")]) is None


def test_which_of_two_lines_is_at_fault_is_not_known() -> None:
    fatal_edits = known(Swap("_k.cu_1", "_k.cu_2"))
    assert fatal_edits.of([Delete("_k.cu_1")]) is None
    assert known(Delete("_k.cu_2")).of([Swap("_k.cu_1", "_k.cu_2")]) == 7


def test_the_first_witness_stays() -> None:
    fatal_edits = known(Delete("_k.cu_1"))
    fatal_edits.enter(8, [Delete("_k.cu_1")])
    assert fatal_edits.of([Delete("_k.cu_1")]) == 7


def test_what_ended_over_something_else_is_forgotten() -> None:
    fatal = FatalEdits()
    fatal.enter(1, [Delete("_k.cu_3")])
    fatal.enter(2, [Delete("_k.cu_4")])
    fatal.forget(1)
    assert fatal.of([Delete("_k.cu_3")]) is None
    assert fatal.of([Delete("_k.cu_4")]) == 2
