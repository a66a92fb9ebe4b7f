"""Kinship of rules by the words of their texts."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from gi_cuda.genome import Delete, Genotype
from gi_cuda.grammar import Source, convert
from gi_cuda.grammar.frontends.cuda.parsed_text import CudaText
from gi_cuda.results.verdict import Verdict
from gi_cuda.search import PRESETS
from gi_cuda.search.adaptive.kinship import Kinship
from gi_cuda.search.adaptive.knowledge import Knowledge
from gi_cuda.search.adaptive.parts import Maker, deleting
from gi_cuda.search.recipes import Fresh, Given
from gi_cuda.subject import Subject

from .conftest import judged

SPILLS = """__global__ void k(int *x, int *spilled, int size, int step) {
    if (step >= size) {
        spilled[threadIdx.x] = step;
    }
    if (size) {
        x[0] = 0;
    }
    x[1] = 1;
    if (step >= size) {
        x[threadIdx.x] = spilled[threadIdx.x];
    }
}
"""
STORE, STORED, EMPTY, CONSTANT, LOAD, LOADED = (
    "IF_k.cu_2",
    "_k.cu_3",
    "IF_k.cu_5",
    "_k.cu_8",
    "IF_k.cu_9",
    "_k.cu_10",
)


@pytest.fixture
def subject(scale: Subject) -> Subject:
    return replace(scale, parsed=CudaText(convert(Source("k.cu", SPILLS), None)))


def test_rules_are_akin_that_name_the_same(subject: Subject) -> None:
    kinship = Kinship(subject.grammar)
    assert kinship.closest(STORE, [LOAD]) == kinship.closest(LOAD, [STORE]) == 1.0
    assert 0.0 < kinship.closest(STORE, [EMPTY]) < 1.0
    assert kinship.closest(CONSTANT, [STORE, STORED]) == 0.0
    assert kinship.closest(STORE, [CONSTANT, LOAD]) == 1.0, "of several the closest one counts"
    assert kinship.closest(STORE, []) == kinship.closest(STORE, ["a parameter"]) == 0.0


def test_what_few_rules_name_counts_more(subject: Subject) -> None:
    """``spilled`` is in two statements, ``threadIdx`` in three."""
    kinship = Kinship(subject.grammar)
    assert kinship.closest(STORED, [LOADED]) > kinship.closest(STORED, [CONSTANT])


def test_what_breaks_alone_is_first_deleted_beside_a_change_of_its_kin(subject: Subject) -> None:
    variation = PRESETS["adaptive"].vary(subject)
    knowledge, configuration = Knowledge(variation, 1), subject.original.configuration
    best = Genotype(configuration, (Delete(LOAD),))
    broken = [
        judged(number, Genotype(configuration, (Delete(place),)), None)
        for number, place in enumerate((STORE, STORED, EMPTY, CONSTANT, LOADED), start=2)
    ]
    knowledge.take([judged(1, best, Verdict.FASTER, 0.8), *broken])

    def asked(seed: int) -> list[str]:
        recipes = deleting(knowledge, Maker(knowledge.best, Fresh(1)), 8, Random(seed))
        made = [one.genotype for one in recipes if isinstance(one, Given)]
        return [one.edits[-1].place for one in made]

    assert {asked(seed)[0] for seed in range(8)} == {STORE}
    for number in range(10, 13):
        both = Genotype(configuration, (*best.edits, Delete(STORE)))
        knowledge.take([judged(number, both, None, parents=(1,))])
    assert {asked(seed)[0] for seed in range(8)}.isdisjoint({STORE}), "others have their turn"
