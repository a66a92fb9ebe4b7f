"""LLVM-IR from source to machine code with the real tools: clang, llvmlite, ptxas."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gi_cuda.analyze.finalists.finalists import select_winner
from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.levels import COMPILED_LEVELS
from gi_cuda.backends.cuda.llvm.clang import find_clang
from gi_cuda.backends.protocol.variants import BuildFailure, Variant
from gi_cuda.backends.table import open_compiler
from gi_cuda.cli.results import compare, explain, minimize, patch
from gi_cuda.errors import UserError
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.evaluate.sampling import draw, try_out
from gi_cuda.genome import Delete, Genotype, Replace
from gi_cuda.grammar import RuleType
from gi_cuda.results.evaluation import Outcome
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import open_run
from gi_cuda.runs.stored import Plan
from gi_cuda.search.strategies.barracuda import SETTINGS
from gi_cuda.subject import Subject
from tests.sweeps import sweep

from .planted import SCALE, a_run
from .pretended import evolve
from .test_ptx import TARGETS


@pytest.fixture(scope="module", autouse=True)
def clang(toolkit: object) -> None:
    """A clang and llvmlite, or a skip with the reason."""
    try:
        find_clang()
    except UserError as error:
        pytest.skip(error.what)


@cache
def subject_of(folder: Path) -> Subject:
    return open_subject(folder, "cuda", "llvm")


@pytest.mark.parametrize("folder", sweep([SCALE, *TARGETS], SCALE), ids=lambda path: path.name)
def test_single_edits_and_confined_code_of_them_assemble(folder: Path, tmp_path: Path) -> None:
    subject = subject_of(folder)
    assert subject.render(subject.original, {}) == subject.reference
    compiler = open_compiler(subject, 2)
    genotypes = list(draw(subject, 24, 1, 1))
    trials = try_out(subject, compiler, genotypes, tmp_path / "plain")
    assert trials.rate >= 0.97
    assert len(trials.tried) > 12
    options = subject.options(subject.original.configuration)
    variants = [
        Variant(n, subject.render(one, None), {}, options)
        for n, one in enumerate([subject.original, *trials.tried[:3]], 1)
    ]
    built = build_batch(compiler.rehearsing()[-1], variants, tmp_path / "confined")
    reference = built[1]
    assert isinstance(reference, CudaBinary)
    assert reference.confined
    assert set(subject.target.kernels) <= set(reference.kernels)
    assert sum(isinstance(one, CudaBinary) for one in built.values()) >= 3


def test_the_same_source_gives_the_same_ir_wherever_it_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = subject_of(SCALE)
    monkeypatch.chdir(tmp_path)
    assert open_subject(SCALE, "cuda", "llvm").fingerprint == first.fingerprint


def test_variables_of_the_host_and_atomic_functions_are_as_nvcc_has_them(nvcc: Any) -> None:
    text = """
    static __constant__ int table[4];
    __global__ void k(int *out) { atomicCAS(out, table[1], 2); }
    """
    level = COMPILED_LEVELS["llvm"]
    ir = level.made(nvcc.compiler, Variant(0, text, {}, ("-std=c++17",)))
    assert re.search(r"@_ZN2v0L5tableE = addrspace\(4\) externally_initialized constant", ir)
    assert level.kernels_in(ir, ("k",)) == ("_ZN2v01kEPi",)
    ptx = level.ptx(ir, "sm_90")
    assert "ld.const.b32" in ptx
    assert re.search(r"atom\.relaxed\.gpu\.\w+\.cas|atom\.\w+\.cas", ptx)
    assert "fence" not in ptx


def test_what_llvm_refuses_is_a_failure_of_its_variant_alone(tmp_path: Path) -> None:
    subject = subject_of(SCALE)
    text = subject.reference
    wrong = text.replace("icmp slt i32", "icmp slt i64", 1)
    declared = "declare void @llvm.nvvm.tcgen05.wait.ld()\n"
    fatal = f"{text}{declared}".replace(
        "  ret void", "  call void @llvm.nvvm.tcgen05.wait.ld()\n  ret void"
    )
    variants = [Variant(n, one, {}) for n, one in enumerate([wrong, text, fatal], 1)]
    built = build_batch(open_compiler(subject, 2), variants, tmp_path)
    failed = {n: one.message for n, one in built.items() if isinstance(one, BuildFailure)}
    assert sorted(failed) == [1, 3]
    assert failed[1].startswith("LLVM does not compile it: ")
    assert "Cannot select" in failed[3]


def test_a_winner_is_minimized_explained_and_written_as_ptx(
    gpu: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subject = subject_of(SCALE)
    grammar = subject.grammar
    (compared,) = (
        rule.name
        for rule in grammar.rules
        if rule.type is RuleType.B32
        and "123456789" in grammar.source.text.split("\n")[rule.line - 1]
    )
    unused = next(
        rule.name
        for rule in grammar.rules
        if rule.type is RuleType.STATEMENT and "sext" in grammar.text(rule.name)
    )
    edits = (Replace(compared, grammar.donors(compared)[0]), Delete(unused))
    genotype = Genotype(subject.original.configuration, edits)
    run = a_run(subject, tmp_path / "run", str(genotype))
    minimize.command(run)
    assert "of 2 changes stay; speed-up on held-out cases" in capsys.readouterr().out
    explain.command(run)
    said = capsys.readouterr().out
    assert re.search(r"replaces an operand, a 32-bit register: %\S+ becomes %\S+\n", said)
    assert re.search(r"changed kernel\.ll:\d+: .*icmp .*\n     from kernel\.cu:29$", said, re.M)
    assert "its place is executed on: train, held-out" in said
    file = tmp_path / "winner.ptx"
    patch.command(run, output=file, format="ptx")
    compare.command([str(run), str(file)], output=tmp_path / "all.csv")
    rows = list(csv.DictReader((tmp_path / "all.csv").open(newline="")))
    assert [row["kind"] for row in rows] == ["LLVM-IR run", "PTX"]
    assert rows[0]["train"] == rows[1]["train"]
    text = file.read_text("utf-8")
    assert "// Kernel scale: _Z5scalePKiPii\n" in text
    assert ".visible .entry _Z5scalePKiPii(" in text


def test_a_search_finds_something_and_goes_on(gpu: None, tmp_path: Path) -> None:
    settings = replace(SETTINGS, population=6, generations=1)
    plan = Plan("barracuda", settings, 1, 1, 2)
    with create_run(subject_of(SCALE), tmp_path / "run", plan) as run:
        assert not run.baseline.loops
        evolve(run)
    with open_run(tmp_path / "run") as run:
        assert run.store.get("level") == run.subject.level == "llvm"
        evolve(run.extended(2))
        outcomes = [one.outcome for one in run.store.evaluations().values()]
        assert len(outcomes) == 2 * settings.population
        assert Outcome.FASTER in outcomes
        winner = select_winner(run)
        assert winner is not None
        diff = run.subject.diff(run.subject.read(winner.genotype))
        assert diff.startswith("--- a/kernel.ll\n+++ b/kernel.ll\n")
