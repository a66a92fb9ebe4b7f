"""Readings of real variants: wrong ones are reported, equal ones are measured once."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from gi_cuda.analyze.explain.coverage import Coverage, coverage
from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.protocol.variants import Binary, Variant
from gi_cuda.backends.table import open_compiler
from gi_cuda.evaluate.reference.baseline import Baseline, establish
from gi_cuda.evaluate.replicates import GenotypeMeasurer, Repeats, Replicates
from gi_cuda.genome import Changed, Genotype
from gi_cuda.results.speed_up import Reading
from gi_cuda.results.verdict import Verdict
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import Plan
from gi_cuda.runs.tools import Tools, open_tools
from gi_cuda.search.strategies.barracuda import SETTINGS
from gi_cuda.store import Store
from gi_cuda.subject import Subject, load_subject
from tests.integration.runs.conftest import copy_scale

SHIPPED = Path(__file__).parents[3] / "targets"
WASTE = "<_kernel.cu_27>"


@pytest.fixture(scope="module")
def measurer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GenotypeMeasurer]:
    folder = tmp_path_factory.mktemp("measurer")
    wasteful = load_subject(copy_scale(folder / "scale"), "host")
    with open_tools(wasteful, folder / "t", workers=2, jobs=2) as tools:
        establish(wasteful, tools.compiler, tools.pool, folder / "b", tools.reference)
        yield GenotypeMeasurer(
            Replicates(
                wasteful,
                tools.compiler,
                tools.pool,
                folder / "r",
                tools.held_out(),
                limit=1.0,
                repeats=Repeats(builds=3, pairs=5),
            )
        )


FORBIDDEN = "BLOCK=128 REPEAT=2"
WRONG = "<_kernel.cu_31>"
SAME = f"{WASTE} <_kernel.cu_33>"
"""The second edit is under an #ifdef that is not there, so it changes nothing."""


@pytest.fixture(scope="module")
def readings(scale: Subject, measurer: GenotypeMeasurer) -> Mapping[str, Reading]:
    """Return the readings of several genotypes, measured together."""
    values = scale.original.configuration.having({"BLOCK": 128, "REPEAT": 2})
    genotypes = {one: scale.read(one) for one in (WRONG, WASTE, SAME, "BLOCK=32")}
    genotypes[FORBIDDEN] = Genotype(values)
    return dict(zip(genotypes, measurer(list(genotypes.values())), strict=True))


def test_every_build_of_a_right_variant_is_timed_beside_the_reference(
    readings: Mapping[str, Reading],
) -> None:
    reading = readings[WASTE]
    assert reading.right
    assert [len(build) for build in reading.builds] == [5, 5, 5]
    assert {sample.case for build in reading.builds for sample in build} == {"held-out"}
    assert reading.speed_up.low > 1


def test_what_is_wrong_is_said(readings: Mapping[str, Reading]) -> None:
    assert readings[WRONG].failure.startswith("wrong: held-out: ")
    assert readings[WRONG].builds == ()


def test_what_breaks_a_constraint_is_not_even_built(readings: Mapping[str, Reading]) -> None:
    assert readings[FORBIDDEN].failure == "breaks a constraint"


def test_what_does_not_compile_is_said(measurer: GenotypeMeasurer) -> None:
    candidate = measurer.replicates.reference()
    broken = type(candidate)(
        candidate.text, candidate.configuration, {**candidate.macros, "REPEAT": "nothing"}
    )
    reading, fine = measurer.replicates.read([broken, candidate])
    assert reading.failure.startswith("does not compile: ")
    assert fine.right


def test_one_phenotype_has_one_reading(readings: Mapping[str, Reading]) -> None:
    assert readings[WASTE] == readings[SAME]
    assert readings[WASTE] != readings["BLOCK=32"]


# -- coverage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["scale", "bwt_exact"])
def test_marked_sources_compile_whatever_the_rule(
    name: str, scale: Subject, tmp_path: Path
) -> None:
    folder = scale.target.folder if name == "scale" else SHIPPED / name
    subject = load_subject(folder, "host", edits="full")
    compiler = open_compiler(subject, 2)
    configuration = subject.original.configuration
    rules = list(subject.grammar.under(configuration.macros).mutable)
    some = random.Random(1).sample(rules, min(60, len(rules)))
    texts = [subject.parsed.mark(rule) for rule in some]
    true = [subject.parsed.mark_true(rule) for rule in some]
    variants = [
        Variant(at, text, subject.macros(configuration))
        for at, text in enumerate((*texts, *true))
        if text is not None
    ]
    built = build_batch(compiler, variants, tmp_path / "b")
    names = [*some, *some]
    failed = {names[at]: one for at, one in built.items() if not isinstance(one, Binary)}
    assert failed == {}


def run_of(subject: Subject, tools: Tools, folder: Path) -> Run:
    plan = Plan("random", SETTINGS, 1, 1, 1)
    baseline = Baseline(0.001, 0.01, (), {}, 1.0, {}, Verdict.SAME)
    return Run(folder, plan, baseline, Store(folder / "run.db", create=True), tools)


def test_coverage_tells_what_no_case_executes(
    scale: Subject, scale_tools: Tools, tmp_path: Path
) -> None:
    establish(scale, scale_tools.compiler, scale_tools.pool, tmp_path / "b", scale_tools.reference)
    text = (
        "BLOCK=128 CHECKED=1 <IF_kernel.cu_29> <_kernel.cu_29> <_kernel.cu_27> <for2_kernel.cu_26>"
        " <pragma_kernel.cu_26><pragma_K4> <optrestrict_kernel.cu_16><optrestrict_K>"
    )
    changed = Changed.of(scale.read(text), scale.original, scale.order)
    run = run_of(scale, scale_tools, tmp_path)
    configuration = changed.whole.configuration
    found = coverage(run, configuration, changed.changes, ("train", "held-out"))
    both = {"train": True, "held-out": True}
    said = {str(c): f for c, f in zip(changed.changes, found, strict=True)}
    neither = dict.fromkeys(both, False)
    assert said["BLOCK=128"] == Coverage(None)
    assert said["CHECKED=1"] == Coverage(None)
    # The condition is looked at, and never holds.
    assert said.pop("<IF_kernel.cu_29>") == Coverage(both, neither)
    assert said.pop("<_kernel.cu_29>") == Coverage(neither)
    assert said.pop("<for2_kernel.cu_26>") == Coverage(both, both)
    assert [one for name, one in said.items() if name.startswith("<")] == [Coverage(both)] * 3
    run.store.close()
