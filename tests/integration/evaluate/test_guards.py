"""Guards end loops that an edit made endless; the variant is wrong nevertheless."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.backends.compile.batch import build_batch
from gi_cuda.backends.cuda.backend import cuda_compiler
from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.cuda.ptx.confine import confined_module
from gi_cuda.backends.cuda.ptx.harmless import SIGNS
from gi_cuda.backends.cuda.toolkit import Toolkit
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.genome import Delete, Genotype
from gi_cuda.grammar import RuleType
from gi_cuda.results.measurement import Survival
from gi_cuda.runs.create import create_run
from gi_cuda.runs.stored import Plan
from gi_cuda.search.strategies.barracuda import SETTINGS
from gi_cuda.subject import Subject, load_subject

TARGET = Path(__file__).parents[2] / "targets" / "scale"


def endless(subject: Subject) -> list[Genotype]:
    """Without the step of a loop: what is added up there is of no use, so the answers stay."""
    steps = [rule.name for rule in subject.grammar.rules if rule.type is RuleType.FOR3]
    assert len(steps) == 2
    return [Genotype(subject.original.configuration, (Delete(step),)) for step in steps]


def test_what_only_a_guard_ends_hangs(tmp_path: Path) -> None:
    subject = load_subject(TARGET, "host")
    with create_run(subject, tmp_path / "run", Plan("barracuda", SETTINGS, 1, 1, 1)) as run:
        evaluator = run.evaluator()
        batch = evaluator.prepare(dict(enumerate(endless(run.subject), 1)))
        found = dict(evaluator.evaluate(batch))
    assert [found[ident].survival for ident in sorted(found)] == [Survival.HUNG] * 2


def test_on_a_device_a_thread_ends_and_leaves_a_sign(toolkit: Toolkit, tmp_path: Path) -> None:
    subject = load_subject(TARGET, "cuda")
    compiler = cuda_compiler(subject, 1, toolkit, "sm_90")
    limits = {loop.ident: 100 for loop in subject.grammar.loops}
    variants = [
        candidate(subject, genotype, limits).variant(number)
        for number, genotype in enumerate(endless(subject))
    ]
    for binary in build_batch(compiler, variants, tmp_path / "plain").values():
        assert isinstance(binary, CudaBinary), binary
    (text,) = (tmp_path / "plain").glob("*.ptx")
    made = text.read_text()
    assert "trap;" not in made  # it would take the worker down
    sign = f"{SIGNS['late']}"
    assert sign in made
    confined = confined_module(made)
    assert sign in confined
    assert "trap;" not in confined
