"""Text that the host's compiler ignores does not change a phenotype on the host."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gi_cuda.backends.protocol.variants import Phenotype
from gi_cuda.backends.table import open_compiler
from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.subject import Subject


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("void scale", "void __launch_bounds__(BLOCK) scale", False),
        ("    if (", "#pragma unroll 3\n    if (", True),
        ("    for (", "#pragma unroll 3\n    for (", False),
        ("void scale", "void __noinline__ scale", False),
    ],
)
def test_words_that_mean_nothing_make_no_phenotype(
    scale: Subject, old: str, new: str, same: bool
) -> None:
    text = unmodified(scale).variant(0).text
    assert old in text
    assert are_one(scale, text, text.replace(old, new, 1)) == same


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("BLOCK, 1", "BLOCK, 2", True),
        ("(BLOCK)", "(BLOCK), max(1, 2)", True),
        ("BLOCK", "2 * BLOCK", False),
    ],
)
def test_of_launch_bounds_the_first_means_something(
    scale: Subject, first: str, second: str, same: bool
) -> None:
    plain = unmodified(scale).variant(0).text
    bounded = (
        plain.replace("void scale", f"void __launch_bounds__({bounds}) scale", 1)
        for bounds in (first, second)
    )
    assert are_one(scale, *bounded) == same


def are_one(scale: Subject, first: str, second: str) -> bool:
    """Tell whether two texts have the same phenotype."""
    variant = unmodified(scale).variant(0)
    variants = [replace(variant, ident=at, text=text) for at, text in enumerate((first, second))]
    read = open_compiler(scale, 1).preprocess(variants)
    one, other = read[0], read[1]
    assert isinstance(one, Phenotype)
    assert isinstance(other, Phenotype)
    return one.key == other.key
