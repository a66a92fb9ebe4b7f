"""Code that is not compiled is replaced by blanks."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.grammar import Source
from gi_cuda.init.build.compilation import Compilation
from gi_cuda.init.source.conditions import compiled_lines, without_dead_code

TEXT = """#ifdef A
int a;
#define INNER 1
#else
int b;
#ifndef TILE
#define TILE 8 // not where TILE is given
#endif
#if TILE > 4 /* a
comment */
int c;
#endif
#endif
#ifdef NEVER
#endif
// int d; is a comment
"""


def left(text: str, folder: Path, *define: tuple[str, str]) -> list[str]:
    """The lines that are not blank."""
    path = folder / "k.cu"
    compiled = compiled_lines(path, text, Compilation(define=dict(define)), ())
    found = without_dead_code(Source("k.cu", text), path, compiled)
    assert [len(line) for line in found.text.split("\n")] == [len(x) for x in text.split("\n")]
    return [line.strip() for line in found.text.split("\n") if line.strip()]


def test_what_a_condition_leaves_out_is_blank(tmp_path: Path) -> None:
    lines = left(TEXT, tmp_path)
    assert "int a;" not in lines
    assert "#define INNER 1" not in lines
    assert {"int b;", "int c;", "#define TILE 8 // not where TILE is given"} <= {*lines}
    lines = left(TEXT, tmp_path, ("A", "1"))
    assert {"int a;", "#define INNER 1"} <= {*lines}
    assert not {"int b;", "int c;"} & {*lines}


def test_a_default_stays_where_the_macro_is_given(tmp_path: Path) -> None:
    lines = left(TEXT, tmp_path, ("TILE", "2"))
    assert "#define TILE 8 // not where TILE is given" in lines
    assert "int c;" not in lines


def test_what_cannot_be_preprocessed_stays_whole(tmp_path: Path) -> None:
    text = f"#error no\n{TEXT}"
    assert "int a;" in left(text, tmp_path)


def test_headers_are_told_wherever_the_source_is_named_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = tmp_path / "real.h"
    header.write_text("#ifdef DOUBLE\ntypedef double real;\n#else\ntypedef float real;\n#endif\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "real.h").write_text("typedef long real;\n")
    text = '#include "real.h"\nreal x;\n'
    for folder, path in ((tmp_path, Path("k.cu")), (elsewhere, tmp_path / "k.cu")):
        monkeypatch.chdir(folder)
        found = compiled_lines(path, text, Compilation(), ())
        assert found == {tmp_path / "k.cu": {2}, header: {4}}
