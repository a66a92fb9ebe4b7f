"""Rule types that never make code faster: a search is offered none of their operations."""

from __future__ import annotations

import random

import pytest

from gi_cuda.genome import Genotype, Space
from gi_cuda.genome.variation import draw_edit
from gi_cuda.grammar import EDIT_SETS, Operation, RuleType, Source, Untested, only_tested
from gi_cuda.grammar.coverage.tested import DROPS
from gi_cuda.grammar.frontends.cuda.parsed_text import convert

KERNELS = """\
__global__ void bare(int *p, int n) { p[0] = n; }
__global__ void __launch_bounds__(256, 2) bounded(int *p, int n) {
    int kept[32];
    for (int i = 0; i < 16; i++) kept[i] = p[i];
    if (n > 1) p[0] = kept[n];
}
"""
GRAMMAR = convert(Source("k.cu", KERNELS), types=EDIT_SETS["all"])
BOUNDS = {
    "launchbounds_k.cu_1",
    "launchbounds_k.cu_2",
    "num_k.cu_2",
    "num_k.cu_2.2",
}
"""The rules that are launch bounds, and the numbers in them."""


def test_nothing_is_offered_of_them_and_of_what_is_in_them() -> None:
    assert all(GRAMMAR.operations(name) for name in BOUNDS)
    offered = only_tested(GRAMMAR, Untested(), idle={RuleType.BOUNDS})
    for left, whole in ((offered, GRAMMAR), (offered.under({}), GRAMMAR.under({}))):
        for name in GRAMMAR.mutable:
            assert left.operations(name) == (() if name in BOUNDS else whole.operations(name))
    assert set(GRAMMAR.under({}).mutable) - set(offered.under({}).mutable) == BOUNDS
    assert offered.rules == GRAMMAR.rules


def test_what_has_another_reason_to_stay_does() -> None:
    (place,) = (one.name for one in GRAMMAR.rules if GRAMMAR.text(one.name) == "p[0] = kept[n];")
    offered = only_tested(GRAMMAR, Untested(), {place: DROPS}, {RuleType.BOUNDS})
    assert offered.operations(place) == (Operation.INSERT,)
    assert not offered.operations("launchbounds_k.cu_2")


@pytest.mark.parametrize("hidden", [0.0, 1.0])
def test_none_is_drawn(hidden: float) -> None:
    """Nor where any rule may be, whether a configuration has it or not."""
    original = Genotype(Space().default)

    def drawn(idle: set[RuleType]) -> set[str]:
        rules, rng = only_tested(GRAMMAR, Untested(), idle=idle), random.Random(1)
        edits = (draw_edit(original, rules, rng, hidden) for _ in range(800))
        return {edit.place for edit in edits if edit is not None}

    assert drawn(set()) - drawn({RuleType.BOUNDS}) == BOUNDS
