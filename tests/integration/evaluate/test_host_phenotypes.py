"""On the host, what means nothing to its compiler makes no other phenotype."""

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
        ("void scale", "void __launch_bounds__(BLOCK, 2) scale", True),
        ("    if (", "#pragma unroll 3\n    if (", True),
        ("    for (", "#pragma unroll 3\n    for (", False),
        ("void scale", "void __noinline__ scale", False),
    ],
)
def test_words_that_mean_nothing_make_no_phenotype(
    scale: Subject, old: str, new: str, same: bool
) -> None:
    variant = unmodified(scale).variant(0)
    assert old in variant.text
    other = replace(variant, ident=1, text=variant.text.replace(old, new, 1))
    read = open_compiler(scale, 1).preprocess([variant, other])
    first, second = read[0], read[1]
    assert isinstance(first, Phenotype)
    assert isinstance(second, Phenotype)
    assert (first.key == second.key) == same
