"""Choice of individuals for validation."""

from __future__ import annotations

from gi_cuda.analyze.finalists.finalists import different, without
from gi_cuda.analyze.finalists.repair import less_suspect, shared
from gi_cuda.genome import Configuration, Delete, Genotype, Space


def having(*places: str) -> Genotype:
    return Genotype(Configuration(Space(), ()), tuple(map(Delete, places)))


def test_of_twins_only_the_better_one_is_validated() -> None:
    found = [
        (7, having("a", "b", "c")),
        (3, having("a", "b", "c", "d")),
        (9, having("a", "b")),
        (4, having("a")),
        (5, having("e")),
    ]
    assert [ident for ident, _ in different(found, 3)] == [7, 4, 5]


def test_where_all_are_twins_the_best_are_validated() -> None:
    found = [(number, having("a", "b", "c", f"d{number}")) for number in range(8)]
    assert [ident for ident, _ in different(found, 5)] == [0, 1, 2, 3, 4]
    assert different([], 5) == []


def test_what_has_a_change_that_is_wrong_by_itself_is_left_out() -> None:
    found = [
        (7, having("good", "bad", "fine")),
        (3, having("good", "bad")),
        (9, having("good", "fine", "new")),
        (8, having("good", "fine")),
    ]
    assert [ident for ident, _ in without(found, {Delete("bad")}, found[:1])] == [9, 8]
    assert [ident for ident, _ in without(found, {Delete("bad")}, found[2:3])] == [8]
    assert without(found, frozenset(), found[:1]) == []


def test_where_none_held_those_follow_that_share_least_with_them() -> None:
    found = [
        (7, having("good", "bad", "fine")),
        (3, having("good", "bad")),
        (9, having("good", "fine", "new")),
        (8, having("good", "fine")),
        (4, having("good")),
        (5, having("bad")),
        (6, having("other")),
    ]
    # Of those that share as much the best one; what comes after 6 has more in common, or less gain.
    assert [ident for ident, _ in less_suspect(found, found[:1], 5)] == [3, 4, 6]
    assert [ident for ident, _ in less_suspect(found, found[:1], 2)] == [4, 6]
    assert less_suspect(found[:1], found[:1], 5) == []


def test_what_several_share_is_suspected() -> None:
    some = [(7, having("a", "bad", "c")), (3, having("d", "bad")), (9, having("bad", "e"))]
    assert shared(some) == [Delete("bad")]
    assert shared([*some, (1, having("f"))]) == shared([]) == []
    assert shared(some[:1]) == list(map(Delete, ("a", "bad", "c")))
