"""The table of rule types."""

from __future__ import annotations

import pickle

from gi_cuda.grammar import ALL_TYPES, PAPER_TYPES, RuleType
from gi_cuda.grammar.rule_types import (
    OPERAND_TYPES,
    SPECIALS,
    TRANSFORMS,
    donor_types,
    type_of,
)

CONDITIONS = {RuleType.IF, RuleType.FOR2, RuleType.WHILE, RuleType.COND}


def test_the_sets_are_those_of_the_paper_and_what_came_to_them() -> None:
    assert " ".join(kind for kind in RuleType if kind in PAPER_TYPES) == (
        "_ IF ELSE for1 for2 for3 pragma optrestrict launchbounds"
    )
    assert " ".join(kind for kind in RuleType if kind in ALL_TYPES - PAPER_TYPES) == (
        "WHILE COND rhs op"
    )
    assert OPERAND_TYPES.isdisjoint(ALL_TYPES)


def test_conditions_take_conditions_but_those_of_the_paper_keep_to_themselves() -> None:
    for kind in RuleType:
        for types in (PAPER_TYPES, PAPER_TYPES | TRANSFORMS):
            assert donor_types(kind, types) == (kind,) or kind not in PAPER_TYPES
        among = donor_types(kind, ALL_TYPES)
        own = RuleType.STATEMENT if kind is RuleType.LOOP else kind
        assert set(among) == (CONDITIONS if kind in CONDITIONS else {own})


def test_a_name_tells_its_type() -> None:
    for kind in RuleType:
        prefix = "" if kind is RuleType.STATEMENT else kind
        assert type_of(f"{prefix}_k.cu_12") is kind
    for name, text in SPECIALS.items():
        kind = type_of(name)
        assert kind is not None
        assert kind.special
        assert kind.kind.specials[name] == text
    assert type_of("k.cu") is type_of("FOR_k.cu_1") is None


def test_types_are_what_they_were_in_another_process() -> None:
    for kind in RuleType:
        assert pickle.loads(pickle.dumps(kind)) is kind
