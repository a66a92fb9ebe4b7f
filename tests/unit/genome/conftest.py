"""A small kernel's grammar and space, and strategies that draw genotypes of these."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from gi_cuda.genome import EDIT_KINDS, Edit, Genotype, Replace, Space
from gi_cuda.grammar import Grammar, Source, convert
from gi_cuda.spec import Constraint, Parameter, ParameterKind
from gi_cuda.spec.expression import parse
from tests.swap import Swap

KERNEL = """\
__device__ int twice(int x) {
    int y = 0;
    y = x + x;
    y += 1;
    y += 1;
    return y;
}

__global__ void k(int *out, const int *in, int n) {
    int i = blockIdx.x * BLOCK_W + threadIdx.x;
    int sum = 0;
    if (i < n) {
        out[i] = 0;
        for (int j = 0; j < 9; j++) {
            sum += in[j];
            if (sum > n && j > 2) sum = 0;
        }
#ifdef SECOND
        for (int m = 1; m < 5; m += 2)
            sum -= twice(m);
        sum = sum * 2;
#else
        sum = sum * 3;
#endif
        while (sum > 100) sum /= 2;
        out[i] = sum;
    }
}
"""


@pytest.fixture(scope="session")
def grammar() -> Grammar:
    """Return a grammar with every rule type that configurations affect, some under ``#ifdef``."""
    return convert(Source("k.cu", KERNEL))


@pytest.fixture(scope="session")
def space() -> Space:
    """Return parameters of every kind, numbers with a gap and words without an order, two
    constraints.
    """
    macro, flag, option = ParameterKind.MACRO, ParameterKind.FLAG, ParameterKind.OPTION
    return Space(
        (
            Parameter("BLOCK_W", macro, (32, 64, 128, 256, 512), 128),
            Parameter("CACHE", macro, (0, 16, 32, 64), 0),
            Parameter("SECOND", flag, (0, 1), 0),
            Parameter("RATIO", macro, (0.5, 1.5, 1e-9), 1.5),
            Parameter("TYPE", macro, ("int", "unsigned int", "7", "a<b>", 'say "x"', ""), "int"),
            Parameter("FAST", option, (0, 1), 1, text="--use_fast_math"),
            Parameter("ONLY", macro, (3,), 3),
        ),
        (
            Constraint(parse("CACHE <= BLOCK_W / 4"), "the cache is loaded by a quarter"),
            Constraint(parse("!(CACHE && SECOND && BLOCK_W % CACHE)")),
        ),
        {"FIXED": "1"},
    )


@pytest.fixture(scope="session")
def all_edits(grammar: Grammar) -> tuple[Edit, ...]:
    """Return every edit that some configuration allows."""
    edits = (
        edit
        for rule in grammar.rules
        for kind in EDIT_KINDS
        for edit in (
            [kind(rule.name)]
            if kind.operator is None
            else [kind(rule.name, donor) for donor in grammar.donors(rule.name)]
        )
    )
    return tuple(edit for edit in edits if edit.is_offered(grammar, grammar))


@pytest.fixture(scope="session")
def mixtures(all_edits: tuple[Edit, ...]) -> st.SearchStrategy[list[Edit]]:
    """Return a strategy of edits of all kinds and swaps, many of these at the same few rules."""
    some = {edit.place for edit in all_edits if edit.place.startswith("_")}
    few = [
        edit
        for edit in all_edits
        if {step.place for step in edit.steps} <= some and edit.donor in {None, *some}
    ]
    swaps = [Swap(e.place, e.donor) for e in few if isinstance(e, Replace)]
    return st.lists(st.sampled_from(few) | st.sampled_from(swaps), max_size=12)


@pytest.fixture(scope="session")
def genotypes(space: Space, all_edits: tuple[Edit, ...]) -> st.SearchStrategy[Genotype]:
    """Return a strategy of genotypes with allowed configurations and edits at few rules."""
    configurations = st.fixed_dictionaries(
        {}, optional={p.name: st.sampled_from(p.values) for p in space.parameters}
    ).map(space.default.having)
    crowded = [edit for edit in all_edits if edit.place in {all_edits[0].place, "_k.cu_13"}]
    edits = st.lists(st.sampled_from(all_edits) | st.sampled_from(crowded), max_size=12)
    return st.builds(Genotype, configurations.filter(space.allows), edits.map(tuple))
