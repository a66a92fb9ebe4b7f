"""What edits do to a source, by the examples that they declare of themselves."""

from __future__ import annotations

import pytest

from gi_cuda.genome import (
    EDIT_TYPES,
    Delete,
    Example,
    Insert,
    Replace,
    Space,
    expansions,
    read_genotype,
)
from gi_cuda.genome.edits import repeats
from gi_cuda.grammar import Expansion, Source, convert, render

EXAMPLES = [(kind, example) for kind in EDIT_TYPES for example in kind.examples]


@pytest.mark.parametrize(("kind", "example"), EXAMPLES, ids=lambda part: getattr(part, "edits", ""))
def test_example(kind: type, example: Example) -> None:
    grammar = convert(Source("k.cu", example.before))
    genotype = read_genotype(example.edits, Space(), grammar)
    assert any(type(edit) is kind for edit in genotype.edits)
    assert render(grammar, expansions(genotype.edits), None) == example.after


@pytest.mark.parametrize("kind", EDIT_TYPES)
def test_every_type_shows_itself(kind: type[Delete | Replace | Insert]) -> None:
    assert len(kind.examples) >= 2


def test_inserts_accumulate_and_the_last_body_wins() -> None:
    edits = [
        Insert("a", "x"),
        Replace("a", "y"),
        Delete("b"),
        Insert("a", "z"),
        Replace("b", "y"),
        Delete("a"),
    ]
    assert expansions(edits) == {
        "a": Expansion(("x", "z"), ""),
        "b": Expansion((), "y"),
    }


def test_repeats() -> None:
    edits = [Delete("a"), Replace("b", "x"), Insert("a", "x")]
    assert repeats(edits, Delete("a"))
    assert repeats(edits, Replace("b", "x"))
    assert not repeats(edits, Delete("b"))
    assert not repeats(edits, Replace("b", "y"))
    assert not repeats(edits, Insert("a", "x"))
    assert not repeats([*edits, Replace("a", "x")], Delete("a"))
