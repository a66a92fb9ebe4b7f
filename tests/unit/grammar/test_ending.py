"""Loop headers whose removal makes a loop endless stay; others may change."""

from __future__ import annotations

import pytest

from gi_cuda.grammar import Operation, Source
from gi_cuda.grammar.frontends.cuda.parsed_text import convert
from gi_cuda.grammar.frontends.cuda.rules.ending import ending

BOTH = {"i < n": {Operation.DELETE}, "i++": {Operation.DELETE, Operation.REPLACE}}


def kept(body: str) -> dict[str, set[Operation]]:
    """The operations that no search makes, by the text of the header part."""
    grammar = convert(Source("k.cu", f"__global__ void k(int *p, int n) {{\n{body}\n}}\n"))
    return {grammar.text(name): set(some) for name, some in ending(grammar).items()}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("for (int i = 0; i < n; i++) p[i] = 0;", BOTH),
        ("for (int i = 0; i < n; i++) { int j = i; p[j] += n; }", BOTH),
        ("for (int i = 0; i < n; i++) { p[i] = 0; i += p[i]; }", {}),
        ("for (int i = 0; i < n; i++) if (p[i]) break;", {}),
        ("for (int i = 0; i < n; i++) if (p[i]) return;", {}),
        ("for (int i = 0; i < n; i++) n = p[i];", {}),
        ("int i = 0; while (i < n) i++;", {}),
        ("for (int i = 0; i < n;) p[i++] = 0;", {}),
    ],
)
def test_the_header_of_a_loop_that_nothing_else_ends_stays(
    body: str, found: dict[str, set[Operation]]
) -> None:
    assert kept(body) == found


def test_of_nested_loops_each_has_its_own() -> None:
    body = "for (int i = 0; i < n; i++) for (int j = 0; j < i; j++) p[j] = i;"
    assert kept(body).keys() == {"i < n", "i++", "j < i", "j++"}
