"""Of a Makefile what counts is what its conditions let in, where nobody sets anything."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from gi_cuda.init.build.build_files import said_by_build_files
from gi_cuda.init.build.make_conditions import counting
from gi_cuda.init.build.repository import Repository


def left(text: str, **elsewhere: str) -> str:
    """The lines that count, one word each."""
    found = counting(text, elsewhere)
    assert found.count("\n") == text.count("\n"), "lines keep their numbers"
    return " ".join(word for word in found.split() if word.isupper())


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("ifeq ($(OS),Windows_NT)\nA\nelse\nB\nendif\nC", "B C"),
        ("ifneq ($(OS), Windows_NT)\nA\nelse\nB\nendif", "A"),
        ("m ?= bf16\nifeq ($(m), fp32)\nA\nelse ifeq ($(m), bf16)\nB\nelse\nC\nendif", "B"),
        ("m ?= 1\nm = 2\nm ?= 3\nifeq '$(m)' '2'\nA\nendif", "A"),
        ("m = x\nm += y\nifeq (${m},x y)\nA\nendif", "A"),
        ("ifdef m\nA\nelse\nB\nendif", "B"),
        ("m = 1\nifdef m\nA\n  ifndef m\nB\n  endif\nelse\nC\nendif", "A"),
        ("ifdef m\nifdef n\nA\nelse\nB\nendif\nelse\nC\nendif", "C"),
        ("ifdef m\nn = 1\nendif\nifdef n\nA\nelse\nB\nendif", "B"),
        ("ifeq ($(wildcard x),)\nA\nelse\nB\nendif", "A B"),
        ("ifeq ($(shell which x),)\nA\nelse ifdef m\nB\nelse\nC\nendif", "A C"),
        (f"ifeq ($(shell uname -s 2>/dev/null),{platform.system()})\nA\nelse\nB\nendif", "A"),
        ("ifeq ($(call f, a, b),)\nA\nendif", "A"),
        ("s = a-b\nifeq ($(findstring -b,$(s)),-b)\nA\nelse\nB\nendif", "A"),
        ("s = a-b\nifneq ($(findstring x,$(s)), x)\nA\nelse\nB\nendif", "A"),
        ("ifneq (,$(filter mex oct,$(MAKECMDGOALS)))\nA\nelse\nB\nendif", "B"),
        ("m = all\nifneq ($(filter-out a%,$(m) b),)\nA\nelse\nB\nendif", "A"),
        ("ifeq ($(strip  $(m) ),)\nA\nelse\nB\nendif", "A"),
        ("m = $(shell cc --version)\nifeq ($(findstring x,$(m)),x)\nA\nelse\nB\nendif", "A B"),
        ("define m\nifdef n\nA\nendif\nendef\nB", "A B"),
        ("all:\n\tif x; then A; \\\n\telse B; fi\nC", "A; B; C"),
        ("ifdef m\nall:\n\telse\n\tA\nendif\nB", "B"),
        ("\tifdef m\nA\n\telse\nB\n\tendif\nC", "B C"),
        ("endif\nA\nelse\nB", "A B"),
        ("m = $(m)\nifeq ($(m),)\nA\nelse\nB\nendif", "A B"),
        (f"m := $(shell uname)\nifeq ($(m),{platform.system()})\nA\nelse\nB\nendif", "A"),
    ],
)
def test_what_counts(text: str, counts: str) -> None:
    assert left(text) == counts


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("all: p\np: p.o\ndebug: F += A\np: F += B\n", "B"),
        ("debug fast: F += A\nall: fast\nfast: p\n", "A"),
        ("debug: F = A\nall: $(kind)\nkind = debug\n", "A"),
        ("$(kind): F := A\nall: p\nkind = debug\n", ""),
        ("all: p\nother: export F = A\nx.o: F = B\n%.o: private F ?= C\n", "B C"),
        (".PHONY: all debug\nall: p\ndebug: F += A\n", ""),
        ("all: p\n.DEFAULT_GOAL := debug\ndebug: F += A\np: F += B\n", "A"),
        ("all: p\ndebug:: all\ndebug: F += A\n\tp: F += B\n", "B"),
        ("debug: F += A\n", "A"),
        ("a: b\nb: a\nc: F += A\nb: F += B\n", "B"),
    ],
)
def test_what_is_set_for_a_target_counts_where_make_makes_it(text: str, counts: str) -> None:
    shown = " ".join(word for word in left(text).split() if len(word) == 1 and word != "F")
    assert shown == counts


def test_what_another_file_sets_is_known() -> None:
    assert left("ifdef m\nA\nelse\nB\nendif", m="1") == "A"


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


def test_macros_of_a_target_that_nobody_names_and_texts_in_quotes_are_left_out(
    tmp_path: Path,
) -> None:
    """A debug build has others, and a name in quotes cannot be told."""
    (tmp_path / "Makefile").write_text(
        "all: fast\n"
        'fast: FLAGS += -DFAST "-DQUICK=2"\n'
        "fast: FLAGS += -DNAME='\"fast\"'\n"
        "debug: FLAGS += -DDEBUG\n"
        "debug: all\n"
    )
    said = [*said_by_build_files(tmp_path / "a.cu", Repository(tmp_path))]
    assert [one.value for one in said] == ["FAST", "QUICK=2"]


@pytest.mark.parametrize(
    ("text", "macros"),
    [
        ("s/%.o: src/%.cu\n\t$(NVCC) -DA $<\nd/%.o: src/%.cu\n\t$(NVCC) -DB $<\n", "A"),
        ("%.o: %.c\n\t$(CC) -DA $<\n%.o: %.cu conf.h\n\t@echo\n\t$(NVCC) -DB $<\n", "B"),
        (".c.o:\n\t$(CC) -DA $<\n.cu.o:\n\t$(NVCC) -DB $<\n", "B"),
        ("one: a.cu\n\tnvcc -DA a.cu\ntwo: a.cu\n\tnvcc -DB a.cu\n", "A"),
        ("one: b.cu\n\tnvcc -DA b.cu\ntwo: a.cu\n\tnvcc -DB a.cu\n", "B"),
        ("$(OBJS): %.o: %.c\n\t$(CC) -DA $<\nx: a.o\n\tnvcc -DB a.o\n", "B"),
        ("x/%.o: x/%.cu\n\tnvcc -DA $<\ny/%.o: y/%.cu\n\tnvcc -DB $<\n", "A B"),
        ("%.o: %.c\n\tcc -DA $<\n$(B:.c=.o) x: $(S:.cu=.o)\n\tnvcc -DB $^\n", "B"),
        ("%.o: %.c\n\tcc -DA $<\nx: F = -DB\nx: a.o\n\tnvcc $(F)\n", "B"),
        ("F = -DA\nG := -DB\nall: a.o\n", "A B"),
    ],
)
def test_macros_are_those_of_the_first_that_is_made_of_a_source(
    text: str, macros: str, tmp_path: Path
) -> None:
    (tmp_path / "Makefile").write_text(text)
    said = said_by_build_files(tmp_path / "a.cu", Repository(tmp_path))
    assert " ".join(one.value for one in said) == macros
