"""Mapping of PTX to lines of source, on output of nvcc -lineinfo."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gi_cuda.genome import Genotype, Space, expansions, mutate
from gi_cuda.grammar import Source, SourceLines
from gi_cuda.grammar.frontends.instructions.grammar import InstructionGrammar
from gi_cuda.grammar.frontends.ptx.grammar import convert_ptx
from gi_cuda.grammar.frontends.ptx.lines import NOT_TOLD, NOTHING_BEFORE, UNKNOWN_FILE, origins
from gi_cuda.grammar.frontends.ptx.render import render_ptx
from gi_cuda.grammar.source import SourceLine
from gi_cuda.search.strategies.barracuda import PAPER

SOURCES = Path(__file__).parents[2] / "sources"
SAMPLES = sorted((SOURCES / "ptx").glob("*.ptx"))


@cache
def read(path: Path) -> InstructionGrammar:
    return convert_ptx(Source(path.name, path.read_text("utf-8")))


def by_text(
    grammar: InstructionGrammar, found: Mapping[str, SourceLines], beginning: str
) -> list[str]:
    """Return the source lines of the instructions that begin with a text."""
    whole = [rule for rule in grammar.rules if rule.type in ("_", "jump")]
    texts = {rule.name: " ".join(grammar.text(rule.name).split()) for rule in whole}
    return [str(found[name]) for name, text in texts.items() if text.startswith(beginning)]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_every_rule_has_lines_that_are_there_or_a_reason(path: Path) -> None:
    grammar = read(path)
    found = origins(grammar)
    assert found.keys() == {rule.name for rule in grammar.rules}
    for origin in found.values():
        assert bool(origin.places) != bool(origin.reason)
        own = [place for place in origin.places if place.file.startswith("tests/")]
        assert own or not origin.places
        for place in own:
            lines = (SOURCES.parents[1] / place.file).read_text("utf-8").split("\n")
            assert 1 <= place.line <= len(lines)
    assert sum(bool(origin.places) for origin in found.values()) > 0.9 * len(found)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_an_operand_is_of_the_line_of_its_instruction(path: Path) -> None:
    grammar = read(path)
    found = origins(grammar)
    whole = {(grammar.places[n].body, grammar.places[n].statement): found[n] for n in found}
    for name, origin in found.items():
        place = grammar.places[name]
        assert origin == whole[place.body, place.statement]


def test_the_place_in_the_kernel_is_where_the_source_does_it() -> None:
    grammar = read(SOURCES / "ptx" / "histogram.ptx")
    source = (SOURCES / "histogram.cu").read_text("utf-8").split("\n")
    atomics = [one for one in by_text(grammar, origins(grammar), "atom.") if one]
    assert atomics
    for said in atomics:
        line = int(re.findall(r"histogram\.cu:(\d+)", said)[0])
        assert "atomicAdd" in source[line - 1]


def test_inlined_calls_are_followed_outwards() -> None:
    grammar = read(SOURCES / "ptx" / "classes.ptx")
    longest = max(origins(grammar).values(), key=lambda one: len(one.places))
    file = "tests/sources/classes.cu"
    assert longest.places == (SourceLine(file, 48), SourceLine(file, 15), SourceLine(file, 47))
    assert str(longest) == f"{file}:48, inlined at {file}:15, inlined at {file}:47"


HEAD = '.version 8.0\n.target sm_80\n.address_size 64\n.file 1 "a.cu"\n.file\t2 "b.h"\n'


def said(body: str) -> str:
    grammar = convert_ptx(
        Source(
            "k.ptx",
            f"{HEAD}.entry k()\n{{\n.reg .b32 %r<9>;\n{body}\nmov.u32 %r1, %r2;\nret;\n}}\n",
        )
    )
    found = origins(grammar)
    return by_text(grammar, found, "mov.u32 %r1, %r2")[0]


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("", NOTHING_BEFORE),
        (".loc 1 0 5", NOT_TOLD),
        (".loc 7 3 5", UNKNOWN_FILE),
        (".loc 1 3 5", "a.cu:3"),
        (".loc 1 3 5\n.loc 2 4 5", "b.h:4"),
        ("\t.loc\t1 3 5\n$L__1:\nadd.u32 %r3, %r3, 1;", "a.cu:3"),
        (".loc 2 9 1, function_name $L__i0, inlined_at 1 3 5", "b.h:9, inlined at a.cu:3"),
        # Without a line of its own it is where the call stood.
        (".loc 2 0 1, function_name $L__i0, inlined_at 1 3 5", "a.cu:3"),
        (
            ".loc 1 3 5, function_name $L__i0, inlined_at 1 8 1\n"
            ".loc 2 9 1, function_name $L__i0+8, inlined_at 1 3 5",
            "b.h:9, inlined at a.cu:3, inlined at a.cu:8",
        ),
        (  # the same place in two copies: the last one told is meant
            ".loc 1 3 5, function_name $L__i0, inlined_at 1 8 1\n"
            ".loc 1 3 5, function_name $L__i0, inlined_at 1 9 1\n"
            ".loc 2 9 1, function_name $L__i1, inlined_at 1 3 5",
            "b.h:9, inlined at a.cu:3, inlined at a.cu:9",
        ),
    ],
)
def test_what_line_information_says(body: str, what: str) -> None:
    assert said(body) == what


def test_what_a_function_before_said_does_not_hold() -> None:
    first = ".entry j()\n{\n.loc 1 3 5\nret;\n}\n"
    second = ".entry k()\n{\nbar.sync 0;\n.loc 1 4 5\nret;\n}\n"
    grammar = convert_ptx(Source("k.ptx", HEAD + first + second))
    found = origins(grammar)
    assert by_text(grammar, found, "bar") == [NOTHING_BEFORE]
    assert by_text(grammar, found, "ret") == ["a.cu:3", "a.cu:4"]


@given(
    path=st.sampled_from(SAMPLES),
    seed=st.integers(0, 2**32),
    count=st.integers(min_value=1, max_value=6),
)
@settings(max_examples=20)
def test_variants_keep_all_line_information(path: Path, seed: int, count: int) -> None:
    """No edit touches it, so what is said of the original's rules holds for a variant's."""
    grammar, rng = read(path), Random(seed)
    genotype = Genotype(Space().default)
    for _ in range(count):
        genotype = mutate(genotype, grammar, rng, replace(PAPER, configuration=0.0)) or genotype
    text = render_ptx(grammar, expansions(genotype.edits))
    told = re.compile(r"^\s*\.(?:loc|file)\b.*", re.M)
    assert told.findall(text) == told.findall(grammar.source.text)
    again = convert_ptx(Source(path.name, text))
    assert all(one.places or one.reason for one in origins(again).values())
