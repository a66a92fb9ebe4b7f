"""Every fusion and fission compiles, alone and with others, on sources of every construct."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from gi_cuda.grammar import EDIT_SETS, Expansion, Grammar, convert, read_source, render
from tests.command import gi_cuda
from tests.integration.grammar.test_grammar_compiles import (
    COMPILERS,
    SOURCES,
    compile_all,
    configurations,
)

ROOT = Path(__file__).parents[3]
FILES = [
    *(SOURCES / f"{name}.cu" for name in ("align", "matmul", "nbody", "seams", "sorting")),
    *(ROOT / "targets" / name / "kernel.cu" for name in ("bwt_exact", "sw_naive", "tissue_spread")),
]
PASSES = ROOT / "tests" / "targets" / "passes"


def seams(grammar: Grammar) -> dict[str, Expansion]:
    """Return the possible expansion at each seam of a source."""
    rules = (rule for rule in grammar.rules if rule.seam is not None)
    return {one.name: Expansion(body=(*grammar.donors(one.name), "")[0]) for one in rules}


def several(all_of: Mapping[str, Expansion], seed: int) -> list[Mapping[str, Expansion]]:
    """Each alone, all together, and some random ones together."""
    rng = random.Random(seed)
    groups = [[name] for name in all_of] + [list(all_of)]
    groups += [rng.sample(list(all_of), min(len(all_of), k)) for k in (2, 2, 3, 3, 5, 5)]
    return [{name: all_of[name] for name in group} for group in groups]


@pytest.mark.skipif("g++" not in COMPILERS, reason="there is no g++")
@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_all_of_them_compile(file: Path) -> None:
    grammar = convert(read_source(file), types=EDIT_SETS["loops"])
    found = seams(grammar)
    assert found
    guarded = {loop.ident: 100 for loop in grammar.loops}
    variants = several(found, seed=1)
    texts = [render(grammar, one, limits) for limits in (None, guarded) for one in variants]
    for macros in configurations(grammar.source.text):
        assert not compile_all(grammar, dict(enumerate(texts)), macros, COMPILERS["g++"]())


def test_a_fusion_is_right_where_nothing_else_says_it(tmp_path: Path) -> None:
    """The body of the second loop is none that other edits can take elsewhere."""
    done = gi_cuda("try", str(PASSES), "<seam_kernel.cu_23>", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\n1: " in done.stdout
    assert ": speed-up " in done.stdout
