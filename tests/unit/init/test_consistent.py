"""Related numbers of a proposed target."""

from __future__ import annotations

import pytest

from gi_cuda.grammar.frontends.cuda.declarations.element_types import Element
from gi_cuda.init.proposing.consistent import consistent, of_counts
from gi_cuda.init.proposing.members import ProposedScalar

IMAGES = [
    ProposedScalar.guessed(f"{image}_{name}", Element("int32"), 1, f"{image}.{name}")
    for image in ("a", "b")
    for name in ("pitch", "height", "width")
]
COUNTS = ["a_height", "a_width", "b_height", "b_width"]


def test_rows_are_as_far_apart_as_they_are_long() -> None:
    """Each of several images has its own width."""
    found = consistent(IMAGES, COUNTS, "b.at[y * b.pitch + x] = a.at[y * a.pitch + x];")
    computed = {one.name: one.computed for one in found if one.computed}
    assert computed == {"a_pitch": "a_width", "b_pitch": "b_width"}


@pytest.mark.parametrize(
    ("items", "values", "said"),
    [
        ("8 * 1024 * C", {"N": 8192, "C": 768}, "N * C"),
        ("8192", {"N": 8192}, "N"),
        ("C * 8192", {"N": 8192, "C": 768}, "N * C"),
        ("8192 * N", {"N": 8192}, "8192 * N"),
        ("8 * C", {"B": 8, "C": 768}, "8 * C"),
        ("8192", {"N": 8192, "M": 8192}, "8192"),
        ("8192 + 1", {"N": 8192}, "8192 + 1"),
        ("(8192) * C", {"N": 8192, "C": 2}, "(8192) * C"),
        ("N * C", {"N": 8192, "C": 768}, "N * C"),
    ],
)
def test_a_count_that_the_host_code_computes_of_constants_is_named(
    items: str, values: dict[str, int], said: str
) -> None:
    assert of_counts(items, values) == said
