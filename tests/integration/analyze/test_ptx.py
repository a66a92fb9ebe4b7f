"""PTX with real tools: reading nvcc's, sharing modules, mapping errors, assembling edits."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from typer.testing import CliRunner

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.compile.nvcc import NvccCompiler
from gi_cuda.backends.cuda.driver import query
from gi_cuda.backends.cuda.levels import COMPILED_LEVELS
from gi_cuda.backends.cuda.ptx.batch import PtxCompiler
from gi_cuda.backends.protocol.variants import BuildFailure, Built, Variant
from gi_cuda.backends.table import open_compiler
from gi_cuda.cli import app
from gi_cuda.errors import UserError
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.evaluate.sampling import draw, try_out
from gi_cuda.grammar import Source
from gi_cuda.grammar.frontends.instructions.grammar import InstructionGrammar
from gi_cuda.grammar.frontends.ptx.grammar import convert_ptx
from gi_cuda.search.strategies.barracuda import PRESET
from gi_cuda.subject import Subject
from tests.command import gi_cuda
from tests.sweeps import sweep

ROOT = Path(__file__).parents[3]
SCALE = ROOT / "tests" / "targets" / "scale"
TARGETS = [*sorted(path.parent for path in (ROOT / "targets").glob("*/target.toml"))]
SOURCES = ["classes", "pointers"]

pytestmark = pytest.mark.usefixtures("toolkit")


@cache
def subject_of(folder: Path) -> Subject:
    return open_subject(folder, "cuda", "ptx")


@pytest.mark.parametrize("folder", sweep(TARGETS, TARGETS[0]), ids=lambda path: path.name)
def test_ptx_of_a_shipped_target_assembles_to_the_code_of_its_source(
    folder: Path, tmp_path: Path
) -> None:
    subject = subject_of(folder)
    original = subject.original
    assert subject.render(original, {}) == subject.reference
    assert subject.grammar.loops
    options = subject.options(original.configuration)
    compiler = open_compiler(subject, 2)
    assert isinstance(compiler, PtxCompiler)
    texts = [subject.reference, subject.parsed.instrument()]
    variants = [Variant(n, text, {}, options) for n, text in enumerate(texts, 8)]
    built = build_batch(compiler, variants, tmp_path / "ptx")
    macros = subject.source.macros(original.configuration)
    source = Variant(1, subject.source.reference, macros, options)
    (direct,) = build_batch(compiler.nvcc, [source], tmp_path / "source").values()
    assert isinstance(direct, CudaBinary)
    reference, counting = (binary(built[n]) for n in (8, 9))
    assert reference.code_key == direct.code_key != counting.code_key
    assert reference.resources == direct.resources
    assert set(reference.kernels) == set(subject.target.kernels)
    assert counting.variables["gi_loop_most"] == "_ZN2v912gi_loop_mostE"


def binary(built: Built) -> CudaBinary:
    assert isinstance(built, CudaBinary), built
    return built


def ptx_grammar(nvcc: NvccCompiler, file: Path) -> InstructionGrammar:
    include = f"-I{file.parent / 'include'}"
    level = COMPILED_LEVELS["ptx"]
    ptx = level.made(nvcc, Variant(0, file.read_text("utf-8"), {}, ("-std=c++17", include)))
    return convert_ptx(Source("k.ptx", ptx), level.kernels_in(ptx, ()), level.own_functions(ptx))


@pytest.mark.parametrize("name", SOURCES)
def test_calls_pointers_and_textures_are_read_and_assemble_again(name: str, nvcc: Any) -> None:
    grammar = ptx_grammar(nvcc.compiler, ROOT / "tests" / "sources" / f"{name}.cu")
    compiler = PtxCompiler(nvcc.compiler, "k.ptx")
    variants = [Variant(n, grammar.source.text, {}) for n in (1, 22)]
    first, second = map(binary, build_batch(compiler, variants, nvcc.folder).values())
    assert first.code_key == second.code_key
    assert set(first.kernels) == set(second.kernels)
    symbols = [{kernel.symbol for kernel in one.kernels.values()} for one in (first, second)]
    assert not symbols[0] & symbols[1]


def test_the_same_source_gives_the_same_ptx_wherever_it_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = subject_of(TARGETS[-1])
    monkeypatch.chdir(tmp_path)  # where nothing has been made yet
    again = open_subject(TARGETS[-1], "cuda", "ptx")
    assert again.fingerprint == first.fingerprint
    assert re.findall(r"\.file\t1 (.*)", again.reference) == ['"v0/kernel.cu"']


def test_errors_come_home_to_their_variants_and_lines(tmp_path: Path) -> None:
    subject = subject_of(SCALE)
    text, options = subject.reference, subject.options(subject.original.configuration)
    store = next(line for line in text.splitlines() if "st.global" in line)
    wrong = text[: text.index(store)].count("\n") + 1
    texts = [
        text.replace("mov.u32 \t%r", f"add.u32 \t%r1, %r1, {n};\n\tmov.u32 \t%r", 1)
        for n in range(12)
    ]
    texts[3] = text.replace(store, store.replace("%r", "%nothing"))
    texts[7] = text.replace(store, "\tst.globule.u32 [%rd1], %r1;")
    texts[9] = re.sub(r"(\.shared [^\[]*tile\[)\d+", r"\g<1>999999", text)
    variants = [Variant(n, one, {}, options) for n, one in enumerate(texts, 1)]
    built = build_batch(open_compiler(subject, 2), variants, tmp_path)
    failed = {n: one.message for n, one in built.items() if isinstance(one, BuildFailure)}
    assert sorted(built) == list(range(1, 13))
    assert sorted(failed) == [4, 8, 10]
    assert failed[4].startswith(f"kernel.ptx:{wrong}: ")
    assert failed[8].startswith(f"kernel.ptx:{wrong}: ")
    assert "shared data" in failed[10]
    assert len({binary(one).code_key for n, one in built.items() if n not in failed}) >= 1


@pytest.mark.parametrize("at_once", [1, 8])
def test_random_edits_assemble(at_once: int, tmp_path: Path) -> None:
    subject = subject_of(SCALE)
    trials = try_out(
        subject, open_compiler(subject, 2), list(draw(subject, 40, at_once, 1)), tmp_path
    )
    assert trials.rate >= 0.98
    assert len(trials.tried) > 30


def test_mutants_of_a_search_are_read_back_and_assemble(tmp_path: Path) -> None:
    subject, rng = subject_of(SCALE), Random(3)
    genotype = subject.original
    variants = []
    for number in range(1, 17):
        genotype = PRESET.vary(subject).mutate(genotype, rng) or genotype
        assert subject.read(str(genotype)) == genotype
        text = subject.render(genotype, {})
        variants.append(Variant(number, text, {}, subject.options(genotype.configuration)))
    assert len(genotype.edits) >= 16
    built = build_batch(open_compiler(subject, 2), variants, tmp_path)
    assert sum(isinstance(one, CudaBinary) for one in built.values()) >= 15


@pytest.mark.parametrize("folder", sweep(TARGETS, TARGETS[0]), ids=lambda path: path.name)
def test_confined_variants_assemble(folder: Path, tmp_path: Path) -> None:
    subject, rng = subject_of(folder), Random(4)
    genotypes = [subject.original]
    vary = PRESET.vary(subject)
    drawn = (vary.mutate(subject.original, rng) for _ in range(8))
    genotypes += [found for found in drawn if found]
    options = subject.options(subject.original.configuration)
    variants = [
        Variant(number, subject.render(one, {}), {}, options)
        for number, one in enumerate(genotypes, 1)
    ]
    for way, compiler in enumerate(open_compiler(subject, 2).rehearsing()):
        built = build_batch(compiler, variants, tmp_path / str(way))
        assert binary(built[1]).kernels
        assert binary(built[1]).confined
        assert sum(isinstance(one, CudaBinary) for one in built.values()) >= len(built) - 1


def invoked(*words: object) -> str:
    """Return the output of a command, run in this process, where the PTX exists already."""
    done = CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_convert_writes_the_ptx_and_its_productions(tmp_path: Path) -> None:
    words = ("convert", SCALE, "--level", "ptx", "-o", tmp_path)
    done = gi_cuda(*words)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kernel.ptx").read_text("utf-8") == subject_of(SCALE).reference
    assert "<_kernel.ptx_" in (tmp_path / "kernel.ptx.bnf").read_text("utf-8")
    assert re.search(r"^functions: 1, loops: \d+", done.stdout, re.M)
    with pytest.raises(UserError) as caught:
        invoked(*words)
    assert "overwrite it with --force" in str(caught.value)


def test_mutate_says_how_many_assemble_and_shows_diffs() -> None:
    words = ("mutate", SCALE, "--level", "ptx", "--backend", "cuda", "--sample", 12)
    assert re.search(r"\d+ of \d+ variants compile", invoked(*words, "--compile"))
    assert invoked(*words).count("--- a/kernel.ptx") == 12


@pytest.mark.parametrize(
    ("level", "backend", "message"),
    [
        ("ptx", "host", "the host back end does not run PTX"),
        ("llvm", "host", "the host back end does not run LLVM-IR"),
        ("cubin", "cuda", "there is no level 'cubin'"),
    ],
)
def test_levels_that_cannot_be_opened(level: str, backend: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        open_subject(SCALE, backend, level)


def test_the_ptx_of_a_source_file_alone_is_refused() -> None:
    done = gi_cuda("convert", SCALE / "kernel.cu", "--level", "ptx")
    assert done.returncode == 2
    assert "PTX is made of a target" in done.stderr
    assert "Traceback" not in done.stderr


def test_evolving_without_a_gpu_stops_with_one_message(tmp_path: Path) -> None:
    if query().gpus:
        pytest.skip("there is a GPU")
    run = tmp_path / "run"
    done = gi_cuda("evolve", SCALE, "--level", "ptx", "--backend", "cuda", "--run", run)
    assert done.returncode == 2
    assert "no GPU can be used" in done.stderr
    assert not run.exists()
