"""The type of a number literal, as C++ has it on a machine whose ``long`` has 64 bits."""

from __future__ import annotations

import pytest

from gi_cuda.grammar.frontends.cuda.declarations.literals import type_of_literal
from gi_cuda.grammar.values import Type


@pytest.mark.parametrize(
    ("text", "spelled"),
    [
        ("0", "int"),
        ("2147483647", "int"),
        ("2147483648", "long"),
        ("3000000000u", "unsigned int"),
        ("5000000000u", "unsigned long"),
        ("0x7FFFFFFF", "int"),
        ("0xFFFFFFFF", "unsigned int"),
        ("0x100000000", "long"),
        ("0xFFFFFFFFFFFFFFFF", "unsigned long"),
        ("037777777777", "unsigned int"),
        ("0b11", "int"),
        ("1'000", "int"),
        ("1ull", "unsigned long long"),
        ("1.0", "double"),
        ("1e3f", "float"),
        ("0x1p3", "double"),
    ],
)
def test_types_of_literals(text: str, spelled: str) -> None:
    found = type_of_literal(text)
    assert found is not None
    assert found == Type(spelled)


def test_a_suffix_of_the_users_own_has_no_known_type() -> None:
    assert type_of_literal("12_km") is None
