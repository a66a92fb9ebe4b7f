"""Variants that are right in one order of the host's threads only are wrong."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from gi_cuda.analyze.compare.comparison import compare
from gi_cuda.analyze.compare.contestants import Reader
from gi_cuda.backends.protocol.schedules import Schedule
from gi_cuda.evaluate.candidates import candidate
from gi_cuda.evaluate.reference.baseline import establish
from gi_cuda.genome import Delete, Genotype
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import Run
from gi_cuda.runs.stored import Plan
from gi_cuda.runs.tools import open_tools
from gi_cuda.search.strategies.barracuda import SETTINGS
from gi_cuda.subject import Subject, load_subject
from tests.command import gi_cuda
from tests.sweeps import broad

BARRIER = "    __syncthreads();\n"
NEIGHBOUR = "    if (threadIdx.x > 0) mine += tile[threadIdx.x - 1];\n"
PLAN = Plan("barracuda", SETTINGS, 1, 1, 2)


def with_barrier(target: Path, text: str) -> Subject:
    """The target with a text in the place of the barrier."""
    kernel = target / "kernel.cu"
    source = kernel.read_text()
    assert source.count(BARRIER) == 1
    kernel.write_text(source.replace(BARRIER, text))
    return load_subject(target, "host")


def run_of(target: Path, folder: Path, text: str) -> AbstractContextManager[Run]:
    """A run on a target whose threads read what the one before them wrote."""
    return create_run(with_barrier(target, text), folder, PLAN)


@broad
def test_a_variant_that_needs_a_barrier_is_found_out_without_it(
    target: Path, tmp_path: Path
) -> None:
    with run_of(target, tmp_path / "run", BARRIER + NEIGHBOUR) as run:
        assert run.baseline.schedules == dict.fromkeys(Schedule, ())
        lines = (target / "kernel.cu").read_text().split("\n")
        barrier = Delete(f"_kernel.cu_{lines.index(BARRIER[:-1]) + 1}")
        racing = Genotype(run.subject.original.configuration, (barrier,))
        evaluator = run.evaluator()
        ((_, found),) = evaluator.evaluate(evaluator.prepare({1: racing}))
        (validation,) = run.validate([candidate(run.subject, racing)])
        contestant = Reader(run.source, tmp_path / "imported", 1).read(str(barrier))
        (compared,) = compare(run.tools, [contestant], run.baseline).results
    assert found.penalty
    assert found.message.endswith("with blocks and threads in the opposite order")
    assert not validation.correct
    assert "opposite order" in validation.message
    assert "opposite order" in compared.failure


def test_where_the_reference_depends_on_the_order_variants_may(
    target: Path, tmp_path: Path
) -> None:
    with run_of(target, tmp_path / "run", NEIGHBOUR) as run:
        assert run.baseline.schedules == {}
        evaluator = run.evaluator()
        ((_, found),) = evaluator.evaluate(evaluator.prepare({1: run.subject.original}))
    assert found.right


def test_check_says_where_no_other_order_gives_the_same(target: Path) -> None:
    with_barrier(target, NEIGHBOUR)
    done = gi_cuda("check", target)
    assert done.returncode == 0, done
    said = " ".join(done.stdout.split())
    assert "kernel scale gives wrong answers, or does not end, with blocks and threads" in said
    assert "its threads race" in said


def test_a_reference_that_waits_for_earlier_blocks_only_runs_forwards(
    target: Path, tmp_path: Path
) -> None:
    """It would wait for ever in the opposite order, which costs a worker and no more."""
    flag = "__device__ volatile int done[4096];\n__global__ void scale("
    wait = "    if (blockIdx.x > 0) while (!done[blockIdx.x - 1]);\n    done[blockIdx.x] = 1;\n"
    kernel = target / "kernel.cu"
    kernel.write_text(kernel.read_text().replace("__global__ void scale(", flag))
    subject = with_barrier(target, BARRIER + wait)
    with open_tools(subject, tmp_path / "session", workers=1, jobs=2) as tools:
        where = (tools.scratch("baseline"), tools.reference)
        found = establish(subject, tools.compiler, tools.pool, *where).schedules
    assert Schedule.REVERSED not in found
