"""Genotypes cut into changes and put together again."""

from __future__ import annotations

import random

from gi_cuda.genome import Changed, mutate
from gi_cuda.search.strategies.barracuda import PAPER
from gi_cuda.subject import Subject


def test_all_changes_together_are_the_genotype_and_none_the_original(scale: Subject) -> None:
    rng = random.Random(1)
    for size in range(60):
        genotype = scale.original
        for _ in range(size % 13):
            genotype = mutate(genotype, scale.grammar, rng, PAPER) or genotype
        cut = Changed.of(genotype, scale.original, scale.order)
        assert scale.key(cut.whole) == scale.key(genotype)
        assert cut.having([]) == scale.original
        assert str(cut.whole) == " ".join(map(str, cut.changes))
        assert Changed.of(cut.whole, scale.original, scale.order) == cut


def test_any_of_them_may_be_left_out(scale: Subject) -> None:
    genotype = scale.read("BLOCK=128 CHECKED=1 <_kernel.cu_31> <_kernel.cu_27>")
    cut = Changed.of(genotype, scale.original, scale.order)
    assert [str(one) for one in cut.changes] == [
        "BLOCK=128",
        "CHECKED=1",
        "<_kernel.cu_27>",
        "<_kernel.cu_31>",
    ]
    assert str(cut.having([1, 2])) == "CHECKED=1 <_kernel.cu_27>"
    assert str(cut.having(cut.all - {1})) == "BLOCK=128 <_kernel.cu_27> <_kernel.cu_31>"


def test_an_edit_that_is_there_twice_counts_twice(scale: Subject) -> None:
    insert = "<_kernel.cu_22>+<_kernel.cu_25>"
    genotype = scale.read(f"{insert} {insert}")
    cut = Changed.of(genotype, scale.original, scale.order)
    assert len(cut.changes) == 2
    assert str(cut.having([1])) == insert
