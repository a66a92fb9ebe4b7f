"""Sources of several files: joining headers into one text, and splitting it again."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gi_cuda.backends.compile.preprocess import batch_text, prelude
from gi_cuda.backends.protocol.variants import Variant
from gi_cuda.errors import UserError
from gi_cuda.grammar import (
    ALL_TYPES,
    Expansion,
    Joined,
    LineIndex,
    Operation,
    convert,
    read_files,
    read_grammar,
    render,
    rendered,
    write_bnf,
    write_scope,
)
from gi_cuda.subject.diffs import files_diff

TREE = Path(__file__).parents[2] / "targets" / "tree"
HEADERS = [TREE / "src" / "detail" / name for name in ("window.cuh", "weights.cuh")]
CXX = shutil.which("g++") or shutil.which("clang++")


def tree() -> Joined:
    return read_files(TREE / "src" / "smooth.cu", HEADERS, [TREE / "include"])


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")


def on_disk(main: Path, names: tuple[str, ...]) -> dict[str, str]:
    paths = {name: main.parent / name for name in names}
    return {
        name: path.read_bytes().decode("utf-8", "surrogateescape") for name, path in paths.items()
    }


def preprocessed(text: str, folder: Path) -> list[str]:
    assert CXX is not None
    done = subprocess.run(
        [CXX, "-E", "-P", "-w", "-x", "c++", f"-I{folder}", "-"],
        input=text,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.split()


# -- a tree as one finds it ------------------------------------------------------------------------


def test_every_file_comes_back_byte_for_byte() -> None:
    source = tree().source
    assert source.names == ("smooth.cu", "detail/window.cuh", "detail/weights.cuh")
    assert source.files == on_disk(TREE / "src" / "smooth.cu", source.names)
    assert source.files["detail/weights.cuh"].endswith("}")
    assert "\r\n" in source.files["detail/weights.cuh"]


def test_rules_are_named_after_their_files_and_lines() -> None:
    grammar = convert(tree().source)
    rule = grammar.rule("_detail/window.cuh_14")
    assert (rule.file, rule.line) == ("detail/window.cuh", 14)
    assert grammar.text(rule.name) == "found = n - 1;"
    assert grammar.text("_detail/weights.cuh_8") == "far = radius + 1 - far;"
    assert grammar.text("for2_smooth.cu_17") == "by <= radius"
    lines = {name: text.splitlines() for name, text in grammar.source.files.items()}
    for rule in grammar.rules:
        first = grammar.text(rule.name).splitlines()[:1]
        assert all(text in lines[rule.file][rule.line - 1] for text in first)


def test_edits_of_several_files_are_one_text_and_several_files() -> None:
    grammar = convert(tree().source, types=ALL_TYPES)
    view, rng = grammar.under({"WEIGHTED": "1"}), random.Random(1)
    seen: set[str] = set()
    for _ in range(300):
        expansions = {}
        for place in rng.sample(view.mutable, 3):
            if Operation.REPLACE in view.operations(place):
                expansions[place] = Expansion(body=rng.choice(view.donors(place)))
        after = rendered(grammar, expansions)
        assert after.text == render(grammar, expansions)
        assert after.names == grammar.source.names
        before = grammar.source.files
        for name, text in after.files.items():
            touched = {grammar.rule(place).file for place in expansions}
            assert text == before[name] or name in touched
            seen |= {name} if text != before[name] else set()
    assert seen == set(grammar.source.names)


def test_a_statement_put_into_a_header_has_that_headers_line_ends() -> None:
    grammar = convert(tree().source)
    name = "_detail/weights.cuh_8"
    text = rendered(grammar, {name: Expansion(before=(name,))}).files["detail/weights.cuh"]
    assert "\tfar = radius + 1 - far;\r\n\tfar = radius + 1 - far;\r\n" in text


def test_bnf_and_scope_there_and_back() -> None:
    grammar = convert(tree().source)
    bnf, scope = write_bnf(grammar), write_scope(grammar)
    assert read_grammar(grammar.source, bnf, scope) == grammar
    assert '<detail/window.cuh_14> ::= "        " <_detail/window.cuh_14> "\\n"\n' in bnf
    assert "<IF_smooth.cu_15>: 15 11-13@detail/window.cuh\n" in scope


def test_scope_edited_across_files() -> None:
    grammar = convert(tree().source)
    bnf, scope = write_bnf(grammar), write_scope(grammar)
    donor, place = "IF_smooth.cu_15", "IF_detail/window.cuh_11"
    assert donor in grammar.donors(place)
    less = scope.replace("<IF_smooth.cu_15>: 15 11-13@", "<IF_smooth.cu_15>: 15 13@")
    assert donor not in read_grammar(grammar.source, bnf, less).donors(place)
    more = scope.replace("<_smooth.cu_22>: ", "<_smooth.cu_22>: 12@detail/window.cuh ")
    granted = read_grammar(grammar.source, bnf, more)
    assert "_smooth.cu_22" in granted.donors("_detail/window.cuh_12")
    wrong = scope.replace("11-13@detail/window.cuh", "11-13@detail/door.cuh")
    with pytest.raises(UserError, match=r"no file 'detail/door\.cuh'") as caught:
        read_grammar(grammar.source, bnf, wrong, called=("my.bnf", "mine/my.scope"))
    assert (caught.value.where or "").startswith("mine/my.scope:")


def test_bnf_that_does_not_match_a_header_names_the_header() -> None:
    grammar = convert(tree().source)
    bnf = write_bnf(grammar).replace('"found = n - 1;"', '"found = n - 2;"')
    with pytest.raises(UserError, match=r"line 14 of detail/window\.cuh") as caught:
        read_grammar(grammar.source, bnf, write_scope(grammar), called=("a/b.bnf", "c.scope"))
    assert (caught.value.where or "").startswith("a/b.bnf:")


@pytest.mark.skipif(CXX is None, reason="there is no C++ compiler")
def test_compilers_name_the_file_and_line() -> None:
    text = tree().source.text.replace("found = n - 1;", "found = n - missing;")
    batch = batch_text(prelude(text), [Variant(7, text, {})], "smooth.cu")
    assert CXX is not None
    folders = [f"-I{TREE / name}" for name in ("src", "include")]
    done = subprocess.run(
        [CXX, "-E", "-x", "c++", *folders, "-"], input=batch, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    spelled = [line.split() for line in done.stdout.splitlines()]
    at = next(i for i, words in enumerate(spelled) if "missing;" in words)
    marker = max(i for i in range(at) if spelled[i][:1] == ["#"])
    assert spelled[marker][2] == '"v7/detail/window.cuh"'
    assert int(spelled[marker][1]) + at - marker - 1 == 14


def test_the_diff_is_one_that_git_applies(tmp_path: Path) -> None:
    copy = tmp_path / "tree"
    shutil.copytree(TREE, copy)
    main = copy / "src" / "smooth.cu"
    headers = [copy / "src" / "detail" / path.name for path in HEADERS]
    grammar = convert(read_files(main, headers, [copy / "include"]).source)
    expansions = {
        "_detail/window.cuh_14": Expansion(body="_detail/window.cuh_12"),
        "_detail/weights.cuh_8": Expansion(body=""),
        "_smooth.cu_20": Expansion(body=""),
    }
    after = rendered(grammar, expansions)
    diff = files_diff(grammar.source.files, after.files, main)
    subprocess.run(["git", "init", "-q"], cwd=copy, check=True)
    again = files_diff(grammar.source.files, after.files, main)
    assert "--- a/src/detail/window.cuh" in again
    assert "--- a/detail/window.cuh" in diff
    (tmp_path / "x.patch").write_text(again, newline="")
    subprocess.run(["git", "apply", str(tmp_path / "x.patch")], cwd=copy, check=True)
    assert on_disk(main, after.names) == after.files


# -- headers that stay includes, and mistakes ------------------------------------------------------

KERNEL = "__global__ void k(int *p) { p[0] = twice(p[1]); }\n"
TWICE = "__device__ int twice(int x) { x += x; return x; }\n"
ONCE = "#pragma once\n"


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"k.cu": '#include "a.cuh"\n#include "a.cuh"\n', "a.cuh": "int a;\n"}, "no include guard"),
        (
            {
                "k.cu": '#ifdef A\n#include "a.cuh"\n#else\n#include "a.cuh"\n#endif\n',
                "a.cuh": ONCE,
            },
            "under other conditions",
        ),
        ({"k.cu": 'int a[] =\n#include "a.cuh"\n;\n', "a.cuh": "{1, 2}\n"}, "middle of something"),
        ({"k.cu": 'void f() {\n#include "a.cuh"\n}\n', "a.cuh": "f();\n"}, "middle of something"),
        ({"k.cu": '#include "a.cuh"\n}\n', "a.cuh": "void f() {\n"}, "whole declarations"),
        ({"k.cu": '#include "a@b.cuh"\n', "a@b.cuh": "int a;\n"}, "white space"),
    ],
)
def test_headers_that_stay_includes(files: dict[str, str], reason: str, tmp_path: Path) -> None:
    write(tmp_path, files)
    header = next(name for name in files if name != "k.cu")
    joined = read_files(tmp_path / "k.cu", [tmp_path / header])
    assert joined.source.text == files["k.cu"]
    (kept,) = joined.kept
    assert kept.header == header
    assert reason in kept.reason


def test_what_stays_takes_along_what_it_includes(tmp_path: Path) -> None:
    files = {
        "k.cu": 'int a[] = {\n#include "a.inc"\n};\n' + KERNEL,
        "a.inc": '#include "b.cuh"\n1',
        "b.cuh": TWICE,
    }
    write(tmp_path, files)
    joined = read_files(tmp_path / "k.cu", [tmp_path / "b.cuh", tmp_path / "a.inc"])
    assert joined.source.text == files["k.cu"]
    assert [one.header for one in joined.kept] == ["a.inc", "b.cuh"]


def test_headers_may_stand_in_namespaces_and_conditions(tmp_path: Path) -> None:
    files = {
        "k.cu": f'namespace n {{\n#if FAST\n#include "a.cuh"\n#endif\n}}\n{KERNEL}',
        "a.cuh": TWICE,
    }
    write(tmp_path, files)
    joined = read_files(tmp_path / "k.cu", [tmp_path / "a.cuh"])
    assert not joined.kept
    grammar = convert(joined.source)
    assert "_a.cuh_1" in grammar.under({"FAST": "1"}).mutable
    assert "_a.cuh_1" not in grammar.under({}).mutable


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({"k.cu": '#include "b.cuh"\n', "b.cuh": "", "a.cuh": ""}, "does not include a.cuh"),
        (
            {"k.cu": '#include "b.cuh"\n', "b.cuh": '#include "a.cuh"\n', "a.cuh": ""},
            "put b.cuh among the headers",
        ),
        ({"k.cu": '#include "a.cuh"\n', "a.cuh": "\0"}, "not text"),
    ],
)
def test_headers_that_cannot_be(files: dict[str, str], says: str, tmp_path: Path) -> None:
    write(tmp_path, files)
    with pytest.raises(UserError) as caught:
        read_files(tmp_path / "k.cu", [tmp_path / "a.cuh"])
    assert says in str(caught.value)


def test_sources_that_none_includes_are_linked_behind(tmp_path: Path) -> None:
    files = {
        "k.cu": f'#include "a.cuh"\n__device__ int far(int x);\n{KERNEL}',
        "a.cuh": ONCE,
        "sub/far.cu": '#include "../a.cuh"\n#include "own.h"\n'
        "__device__ int far(int x) { return x + 1; }",
        "sub/own.h": "#define OWN 1\n",
    }
    write(tmp_path, files)
    joined = read_files(tmp_path / "k.cu", [tmp_path / "sub/far.cu", tmp_path / "a.cuh"])
    assert not joined.kept
    assert joined.source.files == {name: files[name] for name in ("k.cu", "a.cuh", "sub/far.cu")}
    before, _, behind = joined.source.text.partition('#line 1 "sub/far.cu"\n')
    assert before.endswith(KERNEL)
    assert behind.count('#include "sub/own.h"') == 1
    assert LineIndex(joined.source).at(len(joined.source.text) - 1) == ("sub/far.cu", 3)


# -- trees as they come ----------------------------------------------------------------------------

GUARDS = ("", ONCE, "#ifndef {0}\n#define {0}\n", "// (c)\n#if !defined({0})\n#define {0} 1\n")
BODY = "{space}__device__ int f{n}(int x)\n{{\n  x += {n};\n  return x;\n}}"


@st.composite
def trees(draw: st.DrawFn) -> dict[str, str]:
    """A main file and headers that include those after them, in all kinds of ways."""
    number = draw(st.integers(1, 4))
    folders = st.sampled_from(["", "detail/", "detail/deep/", "other/"])
    names = [draw(folders) + f"h{n}.cuh" for n in range(number)]
    files = {}
    for n, name in enumerate(["k.cu", *names]):
        lines = []
        for header in draw(st.lists(st.sampled_from(names[n:]), max_size=3)) if names[n:] else []:
            up = "../" * name.count("/")
            line = f'#include "{up}{header}"' + draw(st.sampled_from(["", " // why", "  "]))
            if draw(st.booleans()):
                line = f"#if{draw(st.sampled_from(['def', 'ndef']))} SET\n{line}\n#endif"
            lines.append(line)
        if n == 0:
            lines.append("__global__ void k(int *p) { p[0] = 1; }")
        else:
            lines.append(BODY.format(n=n, space=draw(st.sampled_from(["", "\n", "/* é */ "]))))
        guard = draw(st.sampled_from(GUARDS)) if n else ""
        text = guard.format(f"GUARD_{n}") + "\n".join(lines)
        if guard.count("#") == 2:
            text += "\n#endif"
        text += draw(st.sampled_from(["", "\n", "\n\n"]))
        files[name] = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    return files


@settings(max_examples=60, deadline=None)
@given(files=trees(), seed=st.integers(0, 1000))
def test_any_tree_comes_back_and_means_the_same(files: dict[str, str], seed: int) -> None:
    """The joined text preprocesses to the same, if all headers can be put in place."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, files)
        main, wanted = folder / "k.cu", [folder / header for header in files if header != "k.cu"]
        joined = None
        while joined is None:
            try:
                joined = read_files(main, wanted)
            except UserError as error:
                if "does not include" not in error.what:
                    raise
                wanted = [path for path in wanted if path != Path(error.where or "")]
        source = joined.source
        assert source.files == {name: files[name] for name in source.names}
        assert {*source.names, *(one.header for one in joined.kept)} == {
            "k.cu",
            *(path.relative_to(folder).as_posix() for path in wanted),
        }
        places = LineIndex(source)
        for match in re.finditer(r"x \+= (\d)", source.text):
            place = places.at(match.start())
            assert place.file.endswith(f"h{match[1]}.cuh".replace(match[1], str(int(match[1]) - 1)))
            assert match[0] in files[place.file].splitlines()[place.line - 1]
        grammar = convert(source, types=ALL_TYPES)
        assert rendered(grammar, {}) == source
        rng = random.Random(seed)
        places_ = rng.sample(grammar.under({}).mutable, 1)
        edited = rendered(grammar, {name: Expansion(body="") for name in places_})
        assert edited.text == render(grammar, {name: Expansion(body="") for name in places_})
        if CXX is not None and seed % 5 == 0:
            live = "".join(
                line
                for line, following in _with_next(source.text.splitlines(keepends=True))
                if not (line.lstrip().startswith("#include") and following.startswith("#line"))
            )
            try:
                expected = preprocessed(files["k.cu"].replace("\r\n", "\n"), folder)
            except subprocess.CalledProcessError:
                return  # headers without guards that include each other
            assert preprocessed(live, folder) == expected


def _with_next(lines: list[str]) -> list[tuple[str, str]]:
    return list(zip(lines, [*lines[1:], ""], strict=True))


def test_byte_order_marks_are_in_the_files_and_not_in_the_text(tmp_path: Path) -> None:
    files = {"k.cu": '\ufeff#include "a.cuh"\nvoid k() {}\n', "a.cuh": "\ufeffint a;\n"}
    write(tmp_path, files)
    for headers in ([], [tmp_path / "a.cuh"]):
        source = read_files(tmp_path / "k.cu", headers).source
        assert "\ufeff" not in source.text
        assert source.files == {name: files[name] for name in source.names}
        changed = source.with_texts(
            [source.text[part.start : part.end].replace("void", "int") for part in source.stretches]
        )
        assert changed.files["k.cu"] == files["k.cu"].replace("void", "int")
    paths = {tmp_path / name: text for name, text in files.items()}
    again = read_files(tmp_path / "k.cu", [tmp_path / "a.cuh"], (), paths).source
    assert again.files == files
