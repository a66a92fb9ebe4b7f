"""Which individuals are validated."""

from __future__ import annotations

from gi_cuda.analyze.winner import different
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
