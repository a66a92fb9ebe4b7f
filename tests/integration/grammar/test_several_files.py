"""A target whose device functions sit in headers, from the command line to the patched tree."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gi_cuda.analyze.compare.contestants import Contestant, Reader
from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.compile.preprocess import prelude
from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Variant
from gi_cuda.errors import UserError
from gi_cuda.evaluate.candidates import Candidate, unmodified
from gi_cuda.evaluate.reference.baseline import (
    compile_reference,
    establish,
    record_reference,
    try_broken,
)
from gi_cuda.evaluate.replicates import Repeats
from gi_cuda.runs.tools import open_tools
from gi_cuda.spec import CaseRole, content_hash
from gi_cuda.subject import Subject, load_subject
from tests.command import gi_cuda

LINE = re.compile(r"#line \d+")
TREE = Path(__file__).parents[2] / "targets" / "tree"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy in a repository of its own."""
    copy = tmp_path / "tree"
    shutil.copytree(TREE, copy)
    subprocess.run(["git", "init", "--quiet"], cwd=copy, check=True)
    return copy


def passes(subject: Subject, folder: Path) -> None:
    with open_tools(subject, folder, workers=1, jobs=1) as tools:
        arguments = (subject, tools.compiler, tools.pool)
        baseline = establish(*arguments, tools.scratch("baseline"), tools.reference)
        assert set(baseline.penalties.values()) == {0}
        assert try_broken(*arguments, tools.scratch("broken"), baseline).penalty


def test_the_patched_tree_is_what_was_built(tree: Path, tmp_path: Path) -> None:
    subject = load_subject(tree / "target", "host", edits="full")
    words = (
        "WEIGHTED=1 <_detail/window.cuh_14><_detail/window.cuh_12>"
        " <_detail/weights.cuh_8> <pragma_smooth.cu_17><pragma_K2>"
    )
    genotype = subject.read(words)
    diff = subject.diff(genotype)
    assert diff.count("diff --git a/src/") == 3
    (tmp_path / "x.patch").write_text(diff, encoding="utf-8", newline="")
    subprocess.run(["git", "apply", str(tmp_path / "x.patch")], cwd=tree, check=True)
    after = load_subject(tree / "target", "host")
    assert after.grammar.source.files == subject.upstream(genotype).files
    passes(after, tmp_path / "after")


def contestant(subject: Subject, patch: str, folder: Path) -> Contestant:
    file = folder / "x.patch"
    file.write_text(patch, encoding="utf-8", newline="")
    return Reader(subject, folder / "imported", 1).read(str(file))


def test_a_patch_of_several_files_can_be_compared(tree: Path, tmp_path: Path) -> None:
    subject = load_subject(tree / "target", "host", edits="full")
    genotype = subject.read("WEIGHTED=1 <_detail/window.cuh_14> <_detail/weights.cuh_8>")
    patched = contestant(subject, subject.diff(genotype), tmp_path).candidate
    text = subject.device_text(subject.upstream(genotype))
    macros = subject.upstream_macros(genotype)
    # Lines are those of the files as they are now.
    plain = replace(patched, text=LINE.sub("#line", patched.text), own=None)
    options = subject.options(genotype.configuration)
    assert plain == Candidate(LINE.sub("#line", text), genotype.configuration, macros, options)

    right = subject.read("<pragma_smooth.cu_17><pragma_K2> <_detail/weights.cuh_8>")
    found = contestant(subject, subject.diff(right), tmp_path).candidate
    with open_tools(subject, tmp_path / "scratch", workers=1, jobs=1) as tools:
        place = tools.scratch("reference")
        (binary,) = compile_reference(subject, tools.compiler, [subject.reference], place)
        program = unmodified(subject).program(binary, tools.session.cases)
        record_reference(subject, tools.pool, program, tools.reference)
        once = replace(
            tools.replicates(CaseRole.HELD_OUT, 60.0, "compared"),
            repeats=Repeats(builds=1, pairs=1),
        )
        (reading,) = once.read([found])
    assert reading.right, reading.failure


def test_a_patch_may_change_what_is_included_where(tree: Path, tmp_path: Path) -> None:
    subject = load_subject(tree / "target", "host", edits="full")
    source = tree / "src" / "smooth.cu"
    before, line = source.read_text(), '#include "detail/window.cuh"\n'
    subprocess.run(["git", "add", "--all"], cwd=tree, check=True)
    source.write_text(before.replace(line, f'#include "detail/weights.cuh"\n{line}'))
    done = subprocess.run(["git", "diff"], cwd=tree, capture_output=True, text=True, check=True)
    after = load_subject(tree / "target", "host").reference
    source.write_text(before)
    patched = contestant(subject, done.stdout, tmp_path).candidate
    assert patched.text == after
    weights, window = '#line 1 "detail/weights.cuh"', '#line 1 "detail/window.cuh"'
    assert patched.text.index(weights) < patched.text.index(window)
    assert subject.reference.index(weights) > subject.reference.index(window)


def test_errors_name_the_header_and_its_line(tree: Path, tmp_path: Path) -> None:
    header = tree / "src" / "detail" / "window.cuh"
    header.write_text(header.read_text().replace("found = n - 1;", "found = n - none;"))
    subject = load_subject(tree / "target", "host")
    with (
        open_tools(subject, tmp_path / "scratch", workers=1, jobs=1) as tools,
        pytest.raises(UserError, match="none") as caught,
    ):
        establish(subject, tools.compiler, tools.pool, tools.scratch("baseline"), tools.reference)
    assert caught.value.where == f"{header}:14"


def test_a_variant_that_does_not_compile_names_the_header(tmp_path: Path) -> None:
    subject = load_subject(TREE / "target", "host")
    text = subject.reference
    wrong = text.replace("far = radius + 1 - far;", "far = radius + 1 - farther;")
    with open_tools(subject, tmp_path, workers=1, jobs=1) as tools:
        variants = [
            Variant(1, text, {"WEIGHTED": "1"}),
            Variant(2, wrong, {"WEIGHTED": "1"}),
            Variant(3, wrong, {}),
        ]
        built = build_batch(tools.compiler, variants, tools.scratch("x"))
    assert isinstance(built[1], Binary)
    assert isinstance(built[3], Binary)
    failed = built[2]
    assert isinstance(failed, BuildFailure)
    assert failed.message.startswith("detail/weights.cuh:8: ")


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="there is no nvcc")
def test_nvcc_reads_headers_in_place_and_names_them(tmp_path: Path) -> None:
    subject = load_subject(TREE / "target", "host")
    text, target = subject.reference, subject.target
    compiler = NvccCompiler(
        nvcc=str(shutil.which("nvcc")),
        architecture="sm_90",
        file_name=subject.grammar.source.name,
        front=prelude(subject.grammar.source.text, subject.macros(subject.space.default)),
        options=(
            "-std=c++17",
            *(f"-I{path}" for path in (*target.build.include, target.source.parent)),
        ),
        jobs=1,
    )
    wrong = text.replace("found = n - 1;", "found = n - none;")
    variants = [Variant(1, text, {}), Variant(2, text, {"WEIGHTED": "1"}), Variant(3, wrong, {})]
    built = build_batch(compiler, variants, tmp_path)
    assert isinstance(built[1], Binary)
    assert isinstance(built[2], Binary)
    failed = built[3]
    assert isinstance(failed, BuildFailure)
    assert failed.message.startswith("detail/window.cuh:14: ")


def test_a_change_in_a_header_is_a_change_of_the_target(tree: Path) -> None:
    before = content_hash(load_subject(tree / "target", "host").target)
    header = tree / "src" / "detail" / "weights.cuh"
    header.write_bytes(header.read_bytes() + b"\n")
    assert content_hash(load_subject(tree / "target", "host").target) != before


def test_explain_names_files_and_what_stays(tree: Path) -> None:
    source = tree / "src" / "smooth.cu"
    text = source.read_text()
    text = text.replace('#include "detail/names.inc"\n', '#include "detail/names.inc"\n' * 2)
    source.write_text(text.replace("static const", "extern const"))
    file = tree / "target" / "target.toml"
    listed = '"../src/detail/weights.cuh"'
    file.write_text(file.read_text().replace(listed, f'{listed}, "../src/detail/names.inc"'))
    done = gi_cuda("convert", tree / "target", "--explain")
    assert done.returncode == 0, done.stderr
    (line,) = (one for one in done.stdout.splitlines() if "found = n - 1;" in one)
    assert line.split()[0] == "detail/window.cuh:14"
    said = "smooth.cu:10: detail/names.inc stays an include: smooth.cu:11 includes it again"
    assert said in done.stdout


def test_mutants_are_diffs_of_several_files() -> None:
    words = ("mutate", TREE / "target", "--sample", "3", "--at-once", "8", "--edits", "full")
    done = gi_cuda(*words, "--seed", "1")
    assert done.returncode == 0, done.stderr
    assert "+++ b/tests/targets/tree/src/detail/window.cuh" in done.stdout
    assert "+++ b/tests/targets/tree/src/smooth.cu" in done.stdout
    assert "#line" not in done.stdout


def test_mutants_compile_under_any_configuration() -> None:
    words = ("mutate", TREE / "target", "--sample", "120", "--edits", "full")
    done = gi_cuda(*words, "--configure", "--compile")
    assert done.returncode == 0, done.stderr
    assert "(100.00%)" in done.stdout


@pytest.mark.parametrize(
    ("headers", "says"),
    [
        ('["../src/detail/none.cuh"]', "target.headers"),
        ('["../src/detail/weights.cuh"]', "put detail/window.cuh among the headers"),
        ('["data.py"]', "does not include ../target/data.py"),
        ("3", "target.headers"),
    ],
)
def test_headers_that_cannot_be(tree: Path, headers: str, says: str) -> None:
    file = tree / "target" / "target.toml"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text(
        "".join(f"headers = {headers}\n" if s.startswith("headers") else s for s in lines)
    )
    done = gi_cuda("convert", tree / "target", "--explain")
    assert done.returncode == 2, done.stdout
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_messages_about_a_grammar_name_the_path_given(tree: Path, tmp_path: Path) -> None:
    done = gi_cuda("convert", tree / "target", "--output", tmp_path / "g")
    assert done.returncode == 0, done.stderr
    bnf, scope = (tmp_path / "g" / f"smooth.cu.{kind}" for kind in ("bnf", "scope"))
    for file, old, new in [(bnf, '"found = n - 1;"', '"n;"'), (scope, ": 12-14", ": 99")]:
        text = file.read_text()
        file.write_text(text.replace(old, new))
        done = gi_cuda("mutate", tree / "target", "--bnf", bnf, "--scope", scope)
        assert done.returncode == 2
        assert done.stderr.startswith(f"gi-cuda: error: {file}:")
        file.write_text(text)
