"""Rehearsals report accesses just beside a buffer, unless the reference has the same."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from gi_cuda.backends.protocol.programs import Sampling
from gi_cuda.backends.protocol.requests import (
    Record,
    Recorded,
)
from gi_cuda.backends.protocol.variants import Binary, Phenotype
from gi_cuda.evaluate.batches.batch import Batch
from gi_cuda.evaluate.batches.experience.past_results import PastResults
from gi_cuda.evaluate.batches.passes import Trial
from gi_cuda.evaluate.batches.rehearsal import Rehearsal, of_all
from gi_cuda.evaluate.batches.rehearsal_choice import rehearsal_of
from gi_cuda.evaluate.candidates import as_candidate
from gi_cuda.evaluate.evaluator import Bounds, Evaluator
from gi_cuda.evaluate.levels import open_subject
from gi_cuda.results.evaluation import Evaluation
from gi_cuda.results.measurement import Survival
from gi_cuda.runs.tools import open_tools
from gi_cuda.subject import Subject

TARGETS = Path(__file__).parent.parent / "targets"
SHIPPED = Path(__file__).parent.parent.parent / "targets"
SAMPLING = Sampling(screen=1, step=1, most=1, limit=0.5)
READS = "        mine = twice(in[at]);\n"
MORE = {
    "behind": "        if (in[at + 1] == 123456789) mine = 0;\n",
    "before": "        if (in[at - 1] == 123456789) mine = 0;\n",
    "inside": "        if (in[n - 1 - at] == 123456789) mine = 0;\n",
}


@contextmanager
def evaluating(subject: Subject, folder: Path) -> Iterator[Evaluator]:
    """Evaluates variants; what the reference answers is recorded."""
    with open_tools(subject, folder, workers=1, jobs=4) as tools:
        limits = {loop.ident: 1000 for loop in subject.grammar.loops}
        found = Evaluator(subject, tools.equipment(), Bounds(limits, SAMPLING))
        reference = found.unmodified()
        assert isinstance(reference.phenotype, Phenotype)
        (binary,) = tools.compiler.compile([reference.phenotype], tools.scratch("reference"))
        assert isinstance(binary, Binary)
        program = found.equipment.program(reference, binary)
        answer = tools.pool.one(Record(program, tools.reference, 2, 60.0))
        assert isinstance(answer, Recorded), answer
        yield found


def rehearsal(evaluator: Evaluator) -> Rehearsal:
    """Return how an evaluator's variants rehearse."""
    reference = evaluator.unmodified()
    how = rehearsal_of(evaluator.subject, evaluator.equipment, reference, SAMPLING)
    assert how is not None
    return how


def outcomes(evaluator: Evaluator, how: Rehearsal, texts: Mapping[int, str]) -> list[Evaluation]:
    """Return the results of variants that rehearse."""
    subject, equipment = evaluator.subject, evaluator.equipment
    variants = [as_candidate(subject, t, subject.standard).variant(i) for i, t in texts.items()]
    found = equipment.compiler.preprocess(variants)
    trials = {i: Trial(subject.standard, one, "") for i, one in found.items()}
    first = of_all(how, trials)
    reference = evaluator.unmodified()
    work = Batch(equipment, reference, trials, SAMPLING, PastResults(), first)
    done = dict(work.run(lambda: False))
    return [done[ident] for ident in texts]


def test_a_variant_that_reads_beside_a_buffer_is_told_of(tmp_path: Path) -> None:
    subject = open_subject(TARGETS / "scale", "cuda")
    text = subject.reference
    assert text.count(READS) == 1
    texts = {at: text.replace(READS, READS + more) for at, more in enumerate(MORE.values(), 1)}
    with evaluating(subject, tmp_path) as evaluator:
        how = rehearsal(evaluator)
        assert not how.sampling.overlooked
        before = evaluator.equipment.pool.deaths
        *faulty, fine = outcomes(evaluator, how, texts)
        assert evaluator.equipment.pool.deaths == before
    for one in faulty:
        assert one.survival is Survival.CRASHED
        assert one.message == "train: an access just beside a buffer"
    assert fine.right


def test_what_its_reference_does_is_no_fault_of_a_variant(tmp_path: Path) -> None:
    folder = tmp_path / "scale"
    shutil.copytree(TARGETS / "scale", folder, ignore=shutil.ignore_patterns("__pycache__"))
    source = folder / "kernel.cu"
    source.write_text(source.read_text("utf-8").replace(READS, READS + MORE["behind"]), "utf-8")
    subject = open_subject(folder, "cuda")
    texts = {1: subject.reference.replace(READS, READS + MORE["before"])}
    with evaluating(subject, tmp_path / "run") as evaluator:
        how = rehearsal(evaluator)
        assert how.sampling.overlooked == {"beside"}
        (one,) = outcomes(evaluator, how, texts)
    assert one.right


@pytest.mark.parametrize("level", ["source", "ptx"])
@pytest.mark.parametrize("name", ["bwt_exact", "sw_naive", "sw_tuned", "tissue_many"])
def test_what_is_shipped_rehearses_without_a_sign(name: str, level: str, tmp_path: Path) -> None:
    with evaluating(open_subject(SHIPPED / name, "cuda", level), tmp_path) as evaluator:
        assert "beside" not in rehearsal(evaluator).sampling.overlooked
