"""Variants with compiled kernels of the reference behave as when compiled whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gi_cuda.backends.compile.delegating import DelegatingCompiler
from gi_cuda.backends.compile.elf import Elf
from gi_cuda.backends.compile.shards import Sizes
from gi_cuda.backends.compile.source import SourceCompiler
from gi_cuda.backends.cuda.backend import open_nvcc
from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.backends.protocol.programs import Program, Sampling
from gi_cuda.backends.protocol.requests import (
    Measure,
    Record,
)
from gi_cuda.backends.protocol.variants import Binary, BuildFailure, Built, Compiler, Phenotype
from gi_cuda.evaluate.batches.compiled_parts import FIRST, Parts
from gi_cuda.evaluate.candidates import candidate, unmodified
from gi_cuda.evaluate.evaluator import Bounds, Evaluator
from gi_cuda.evaluate.sampling import draw
from gi_cuda.genome import Genotype
from gi_cuda.results.measurement import Measurement
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.subject import Subject, load_subject
from tests.sweeps import broad

STEPS = Path(__file__).parents[2] / "targets" / "steps"


def variants(subject: Subject) -> dict[int, Genotype]:
    """Random ones, some of them with two edits under another configuration."""
    drawn = [*draw(subject, 40, 1, seed=5), *draw(subject, 10, 2, seed=6, configured=True)]
    return dict(enumerate(drawn, 1))


def limits(subject: Subject) -> dict[int, int]:
    """Return a limit of iterations for each loop."""
    return {loop.ident: 1000 for loop in subject.grammar.loops}


def phenotypes(
    subject: Subject, compiler: Compiler, genotypes: Mapping[int, Genotype]
) -> list[Phenotype]:
    """The reference's, then those of the variants."""
    sources = {n: candidate(subject, one, limits(subject)) for n, one in genotypes.items()}
    read = compiler.preprocess(
        [unmodified(subject).variant(0), *(one.variant(n) for n, one in sources.items())]
    )
    return [one for one in read.values() if isinstance(one, Phenotype)]


def compiled(compiler: Compiler, ready: Sequence[Phenotype], folder: Path) -> dict[int, Built]:
    """Return the built variants by number."""
    return {one.ident: one for one in compiler.compile(ready, folder)}


def both_ways(
    subject: Subject, compiler: Compiler, folder: Path
) -> tuple[dict[int, Built], dict[int, Built]]:
    """The variants that can be had in parts: compiled whole, and in parts with what they are lent.

    Number 0 is the reference.
    """
    reference, *ready = phenotypes(subject, compiler, variants(subject))
    parts = dict(zip((one.ident for one in ready), compiler.parts(ready, reference), strict=True))
    assert sum(map(bool, parts.values())) > len(ready) // 2
    assert max(map(len, parts.values())) > 1
    alike = [reference, *(one for one in ready if parts[one.ident])]
    whole = compiled(compiler, alike, folder / "whole")
    built = Parts().compiled(compiler, alike, reference, folder / "parts")
    together = {one.ident: one for one in built}
    base = together[0]
    assert isinstance(base, Binary)
    beside = {
        n: one.beside(base) if isinstance(one, Binary) else one for n, one in together.items()
    }
    return whole, beside


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tools]:
    """Compiler and workers for a target with seven kernels."""
    subject = load_subject(STEPS, "host", edits="full")
    with open_tools(subject, tmp_path_factory.mktemp("steps"), workers=2, jobs=2) as tools:
        (reference,) = phenotypes(subject, tools.compiler, {})
        (binary,) = tools.compiler.compile([reference], tools.scratch("reference"))
        assert isinstance(binary, Binary)
        program = Program(binary, dict(subject.standard), tools.train())
        tools.pool.one(Record(program, tools.reference, 1, 60.0))
        yield tools


@broad
def test_they_give_the_same_answers(tools: Tools, tmp_path: Path) -> None:
    subject, sampling = tools.subject, Sampling(limit=0.5).untimed()
    genotypes = variants(subject)
    right: list[set[int]] = []
    for built in both_ways(subject, tools.compiler, tmp_path):
        programs = {
            n: Program(one, dict((genotypes.get(n) or subject.original).configuration), ("train",))
            for n, one in built.items()
            if isinstance(one, Binary)
        }
        requests = [(n, Measure(one, programs[0], sampling)) for n, one in programs.items()]
        answers = dict(tools.pool.map(requests))
        found = {n for n, a in answers.items() if isinstance(a, Measurement) and a.correct}
        right.append(found)
    assert right[0] == right[1]
    assert 5 < len(right[0]) < 45


@dataclass(frozen=True, slots=True)
class WithoutParts(DelegatingCompiler):
    """A compiler that takes no parts."""

    def compile(self, phenotypes: Sequence[Phenotype], folder: Path) -> Iterator[Built]:
        parts = [one for one in phenotypes if one.ident >= FIRST]
        yield from (BuildFailure(one.ident, "kernel.cu:1: it is a part") for one in parts)
        whole = [one for one in phenotypes if one.ident < FIRST]
        yield from self.inner.compile(whole, folder)


def test_what_does_not_compile_in_parts_is_compiled_whole(tools: Tools, tmp_path: Path) -> None:
    subject, compiler = tools.subject, tools.compiler
    genotypes = {1: subject.read("<_kernel.cu_62>"), 2: subject.read("<_kernel.cu_92>")}
    reference, *ready = phenotypes(subject, compiler, genotypes)
    assert all(compiler.parts(ready, reference))
    built = Parts().compiled(WithoutParts(compiler), ready, reference, tmp_path)
    found = {one.ident: one for one in built}
    assert set(found) == {1, 2}
    for one in found.values():
        assert isinstance(one, Binary)
        assert not one.lent


def test_a_search_lends_kernels_and_says_what_they_do(tools: Tools) -> None:
    subject = tools.subject
    bounds = Bounds(limits(subject), Sampling(screen=1, step=1, most=1, limit=0.5))
    evaluator = Evaluator(subject, tools.equipment(), bounds)
    notations = {1: "<_kernel.cu_62>", 2: "<_kernel.cu_92>", 3: "BLOCK=32", 4: ""}
    genotypes = {n: subject.read(text) for n, text in notations.items()}
    records = dict(evaluator.evaluate(evaluator.prepare(genotypes)))
    assert {n: one.right for n, one in records.items()} == {1: False, 2: False, 3: True, 4: True}


@pytest.fixture
def nvcc(toolkit: Toolkit) -> SourceCompiler:
    """nvcc, with each variant in a cubin of its own: variables lie where others leave room."""
    compiler = open_nvcc(load_subject(STEPS, "cuda", edits="full"), 2)
    return replace(compiler, sizes=Sizes(1, 1), shares=False)


@broad
def test_nvcc_makes_the_same_machine_code(nvcc: SourceCompiler, tmp_path: Path) -> None:
    subject = load_subject(STEPS, "cuda", edits="full")
    whole, lent = both_ways(subject, nvcc, tmp_path)
    compared = 0
    for number, alone in whole.items():
        parts = lent[number]
        if isinstance(alone, BuildFailure) or isinstance(parts, BuildFailure):
            assert alone == parts
            continue
        assert isinstance(alone, CudaBinary)
        assert isinstance(parts, CudaBinary)
        assert dict(alone.resources) == dict(parts.resources)
        for name in nvcc.kernels:
            lender = parts.lender if name in parts.lent else parts
            holder = parts.parts.get(name, lender)
            assert isinstance(holder, CudaBinary)
            assert code(holder, name) == code(alone, name), f"{name} of {number}"
            compared += 1
    assert compared > 200


def code(binary: CudaBinary, name: str) -> tuple[bytes, bytes, bytes]:
    """A kernel's machine code, its constants and its launch bounds."""
    elf, symbol = Elf(binary.path.read_bytes()), binary.kernels[name].symbol
    constants = elf.content(f".nv.constant2.{symbol}")
    return elf.content(f".text.{symbol}"), constants, elf.bounds(symbol)
