"""Patches: new defaults in place, and diffs that git applies and that give exactly the variant."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gi_cuda.genome import mutate
from gi_cuda.grammar import Source
from gi_cuda.search.strategies.barracuda import PAPER
from gi_cuda.subject import Subject, load_subject
from gi_cuda.subject.diffs import paths_in_repository, unified_diff
from gi_cuda.subject.diffs import with_defaults as with_defaults_of_files

SHIPPED = Path(__file__).parents[3] / "targets"


def with_defaults(text: str, changes: dict[str, str | None]) -> str:
    return with_defaults_of_files(Source("k.cu", text), changes).text


# -- defaults --------------------------------------------------------------------------------------

SOURCE = """\
// A kernel. BLOCK is not #define BLOCK here.
#ifndef BLOCK
#define BLOCK 64 // threads
#endif
#  define\tCACHE   2\t/* per
   thread */
#define FAST
#define BLOCK_2 7

__global__ void k() {}
"""


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"BLOCK": "128"}, "#define BLOCK 128 // threads"),
        ({"CACHE": "16"}, "#  define\tCACHE   16\t/* per"),
        ({"FAST": "1"}, "#define FAST 1"),
        ({"FAST": None}, "/* #define FAST */"),
        ({"BLOCK_2": "(1 + 2)"}, "#define BLOCK_2 (1 + 2)"),
    ],
    ids=str,
)
def test_a_value_changes_where_it_stands_and_nothing_else_does(
    changes: dict[str, str | None], line: str
) -> None:
    after = with_defaults(SOURCE, changes)
    old, new = SOURCE.split("\n"), after.split("\n")
    (changed,) = [i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
    assert new[changed] == line


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_value_of_several_lines_goes_as_a_whole(end: str) -> None:
    text = "#define WIDE (1 \\\n    + 2) // sum\nint x = WIDE;\n".replace("\n", end)
    after = with_defaults(text, {"WIDE": "9"})
    assert after == "#define WIDE 9 // sum\nint x = WIDE;\n".replace("\n", end)


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_a_macro_that_is_not_there_is_defined_before_the_code(end: str) -> None:
    text = SOURCE.replace("\n", end)
    after = with_defaults(text, {"STRIDE": "3"})
    block = end.join(["#ifndef STRIDE", "#define STRIDE 3", "#endif", ""])
    head, code = text.split(end, 1)
    assert after == f"{head}{end}{block}{code}"
    assert with_defaults(after, {"STRIDE": "3"}) == after


def test_line_ends_stay_as_they_are() -> None:
    text = SOURCE.replace("\n", "\r\n")
    after = with_defaults(text, {"BLOCK": "128", "CACHE": "4", "FAST": None})
    assert after.count("\r\n") == after.count("\n") == text.count("\n")
    assert "#define BLOCK 128 // threads\r\n" in after
    assert "/* #define FAST */\r\n" in after


def test_no_changes_change_nothing() -> None:
    assert with_defaults(SOURCE, {}) == SOURCE


NAMES = ["BLOCK", "CACHE", "FAST", "STRIDE"]
CHANGES = st.dictionaries(
    st.sampled_from(NAMES), st.none() | st.integers(0, 999).map(str), min_size=1
)


@given(CHANGES, st.sampled_from(["\n", "\r\n"]))
def test_changes_settle_at_once_and_in_any_order(changes: dict[str, str | None], end: str) -> None:
    text = SOURCE.replace("\n", end)
    after = with_defaults(text, changes)
    assert with_defaults(after, changes) == after
    present = {name: value for name, value in changes.items() if name != "STRIDE"}
    backwards = dict(reversed(present.items()))
    assert with_defaults(text, present) == with_defaults(text, backwards)


def preprocessed(text: str, *options: str) -> str:
    compiler = shutil.which("g++") or shutil.which("clang++")
    assert compiler is not None
    done = subprocess.run(
        [compiler, "-E", "-P", "-x", "c++", *options, "-"],
        input=text,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return " ".join(done.stdout.split())


@pytest.mark.parametrize(
    "changes",
    [{"BLOCK": "32"}, {"BLOCK": "128", "CHECKED": "1"}, {"REPEAT": "2", "BLOCK": "32"}],
    ids=str,
)
def test_new_defaults_mean_what_the_configuration_meant(
    scale: Subject, changes: dict[str, str | None]
) -> None:
    """Compiled without options, the patched source is the variant; options still overrule it."""
    text = scale.grammar.source.text
    options = [f"-D{name}={value}" for name, value in changes.items()]
    after = with_defaults(text, changes)
    assert preprocessed(after) == preprocessed(text, *options) != preprocessed(text)
    usual = ["-DBLOCK=64", "-DREPEAT=1"]
    if "CHECKED" not in changes:
        assert preprocessed(after, *usual) == preprocessed(text)


# -- diffs -----------------------------------------------------------------------------------------

GIT = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def applied(folder: Path, path: str, before: str, diff: str) -> str:
    """Return a file after ``git apply`` of a diff."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(before, encoding="utf-8", errors="surrogateescape", newline="")
    patch = folder.parent / "change.patch"
    patch.write_text(diff, encoding="utf-8", errors="surrogateescape", newline="")
    for words in (["--check"], []):
        done = subprocess.run(
            ["git", "apply", *words, str(patch)], cwd=folder, env=GIT, capture_output=True
        )
        assert done.returncode == 0, done.stderr
    return file.read_bytes().decode("utf-8", "surrogateescape")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("git") / "tree"
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet"], cwd=folder, env=GIT, check=True)
    return folder


LINES = st.text(st.sampled_from("ab \t\r\f\v\x1c\x85\u2028é\udc80\udcff-+@\\"), max_size=6)


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, str]:
    """A text and what became of it, with or without a newline at the end."""
    before = draw(st.lists(LINES, min_size=1, max_size=12))
    after = list(before)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(after)))
        after[at : at + draw(st.integers(0, 2))] = draw(st.lists(LINES, max_size=2))
    ends = st.sampled_from(["", "\n"])
    # A source is never empty.
    return "x\n" + "\n".join(before) + draw(ends), "x\n" + "\n".join(after) + draw(ends)


@settings(max_examples=60, deadline=None)
@given(pair=texts())
def test_git_applies_a_diff_and_gets_exactly_the_variant(
    pair: tuple[str, str], repository: Path
) -> None:
    before, after = pair
    diff = unified_diff(before, after, "src/k.cu")
    if before == after:
        assert diff == ""
    else:
        assert applied(repository, "src/k.cu", before, diff) == after


@pytest.mark.parametrize("path", ["k.cu", "a b/c d.cu", "deep/er/é.cu"])
def test_paths_of_all_kinds(path: str, repository: Path) -> None:
    diff = unified_diff("one\ntwo\n", "one\n2\n", path)
    assert f"--- a/{path}" in diff
    assert applied(repository, path, "one\ntwo\n", diff) == "one\n2\n"


@pytest.mark.parametrize("name", ["scale", "bwt_exact"])
def test_patches_of_random_genotypes_apply(name: str, scale: Subject, repository: Path) -> None:
    """Edits, configuration and both, up to a dozen of them."""
    subject = scale if name == "scale" else load_subject(SHIPPED / name, "host")
    rng = random.Random(1)
    before = subject.grammar.source.text
    changed = 0
    for size in range(1, 13):
        one = subject.original
        for _ in range(size):
            one = mutate(one, subject.grammar, rng, PAPER) or one
        after = subject.upstream(one).text
        diff = unified_diff(before, after, "targets/k.cu")
        assert (diff == "") == (after == before)
        if diff:
            assert applied(repository, "targets/k.cu", before, diff) == after
            changed += 1
    assert changed > 8


def test_the_path_is_from_the_root_of_the_repository(tmp_path: Path) -> None:
    source = tmp_path / "work" / "deep" / "kernel.cu"
    source.parent.mkdir(parents=True)
    source.touch()
    assert paths_in_repository([source]) == ["kernel.cu"]
    (tmp_path / "work" / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    assert paths_in_repository([source]) == ["deep/kernel.cu"]
    (source.parent / ".git").mkdir()
    assert paths_in_repository([source]) == ["kernel.cu"]
