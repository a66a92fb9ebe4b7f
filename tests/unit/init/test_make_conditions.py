"""Lines of a Makefile that its conditions include, with variables at their defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.init.build.build_files import said_by_build_files
from gi_cuda.init.build.make_conditions import counting
from gi_cuda.init.build.repository import Repository


def left(text: str) -> str:
    """The lines that count, one word each."""
    found = counting(text)
    assert found.count("\n") == text.count("\n"), "lines keep their numbers"
    return " ".join(word for word in found.split() if word.isupper())


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("ifeq ($(OS),Windows_NT)\nA\nelse\nB\nendif\nC", "B C"),
        ("ifneq ($(OS), Windows_NT)\nA\nelse\nB\nendif", "A"),
        ("m ?= bf16\nifeq ($(m), fp32)\nA\nelse ifeq ($(m), bf16)\nB\nelse\nC\nendif", "B"),
        ("m ?= 1\nm = 2\nm ?= 3\nifeq ($(m),2)\nA\nendif", "A"),
        ("m = x\nm += y\nifeq (${m},x y)\nA\nendif", "A"),
        ("ifdef m\nA\nelse\nB\nendif", "B"),
        ("m = 1\nifdef m\nA\n  ifndef m\nB\n  endif\nelse\nC\nendif", "A"),
        ("ifdef m\nifdef n\nA\nelse\nB\nendif\nelse\nC\nendif", "C"),
        ("ifdef m\nn = 1\nendif\nifdef n\nA\nelse\nB\nendif", "B"),
        ("ifeq ($(wildcard x),)\nA\nelse\nB\nendif", "A B"),
        ("ifeq ($(shell which x),)\nA\nelse ifdef m\nB\nelse\nC\nendif", "A C"),
        ("ifeq ($(call f, a, b),)\nA\nendif", "A"),
        ("m = $(shell cc --version)\nifeq ($(findstring x,$(m)),x)\nA\nelse\nB\nendif", "A B"),
        ("all:\n\tif x; then A; \\\n\telse B; fi\nC", "A; B; C"),
        ("ifdef m\nall:\n\telse\n\tA\nendif\nB", "B"),
        ("\tifdef m\nA\n\telse\nB\n\tendif\nC", "B C"),
        ("endif\nA\nelse\nB", "A B"),
        ("m = $(m)\nifeq ($(m),)\nA\nelse\nB\nendif", "A B"),
    ],
)
def test_what_counts(text: str, counts: str) -> None:
    assert left(text) == counts


def test_folders_and_macros_are_those_of_the_build_that_is_made_here(tmp_path: Path) -> None:
    """A folder for Windows alone has a unistd.h of its own; two macros exclude each other."""
    (tmp_path / "shims").mkdir()
    (tmp_path / "own").mkdir()
    (tmp_path / "Makefile").write_text(
        "precision ?= double\n"
        "ifeq ($(OS), Windows_NT)\n  flags += -Ishims\nelse\n  flags += -Iown\nendif\n"
        "ifeq ($(precision), float)\n  flags += -DUSE_FLOAT\nelse\n  flags += -DUSE_DOUBLE\nendif\n"
    )
    said = [*said_by_build_files(tmp_path / "a.cu", Repository(tmp_path))]
    assert [one.value for one in said] == [str(tmp_path / "own"), "USE_DOUBLE"]
    assert [one.place.rpartition(":")[2] for one in said] == ["5", "10"]


def test_a_macro_that_is_a_text_in_quotes_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(
        'all: fast\nfast: FLAGS += -DFAST "-DQUICK=2"\nfast: FLAGS += -DNAME=\'"fast"\'\n'
    )
    said = [*said_by_build_files(tmp_path / "a.cu", Repository(tmp_path))]
    assert [one.value for one in said] == ["FAST", "QUICK=2"]
