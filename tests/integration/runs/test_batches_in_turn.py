"""State between batches: nothing stays loaded; results of known machine code are reused."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from gi_cuda.backends.protocol.variants import BuildFailure
from gi_cuda.genome import Delete, Genotype
from gi_cuda.runs.create import create_run
from gi_cuda.runs.stored import Plan
from gi_cuda.search.strategies.barracuda import SETTINGS
from gi_cuda.subject import Subject

HARMLESS = Delete("_kernel.cu_27")
UNUSED = Delete("_kernel.cu_29")
WRONG = Delete("_kernel.cu_22")


def test_a_worker_never_runs_what_an_earlier_batch_left_loaded(
    scale: Subject, tmp_path: Path
) -> None:
    configuration = scale.original.configuration
    right, wrong = (Genotype(configuration, (edit,)) for edit in (HARMLESS, WRONG))
    with create_run(scale, tmp_path / "run", Plan("barracuda", SETTINGS, 1, 1, 1)) as run:
        evaluator = run.evaluator()
        for batch in ({1: right, 2: wrong}, {1: wrong, 2: right}, {3: right, 4: wrong}):
            found = dict(evaluator.evaluate(evaluator.prepare(batch)))
            assert {i for i, one in found.items() if one.right} == {
                i for i, genotype in batch.items() if genotype is right
            }
            assert run.tools.pool.deaths == 0
            evaluator.memory.codes.clear()  # so that the next batch is run


def test_records_come_as_soon_as_they_are_known(scale: Subject, tmp_path: Path) -> None:
    """Failed builds and known results wait for no compiler and no worker."""
    configuration = scale.original.configuration
    fine = Genotype(configuration, (HARMLESS,))
    with create_run(scale, tmp_path / "run", Plan("barracuda", SETTINGS, 1, 1, 1)) as run:
        evaluator = run.evaluator()
        trials = evaluator.prepare({1: fine, 2: fine, 3: fine})
        failed = replace(trials[2], phenotype=BuildFailure(2, "kernel.cu:1: nonsense"))
        with closing(evaluator.evaluate({1: trials[1], 2: failed})) as records:
            ident, evaluation = next(records)
            assert ident == 2
            assert not evaluation.built
            assert evaluation.message == "kernel.cu:1: nonsense"
            assert run.tools.pool.has_room
            assert next(records)[0] == 1
        requests: list[object] = []
        run.tools.pool.submit = requests.append  # type: ignore[method-assign]
        assert [ident for ident, _ in evaluator.evaluate({3: trials[3]})] == [3]
        assert requests == []


def test_the_same_machine_code_is_measured_once(scale: Subject, tmp_path: Path) -> None:
    """The compiler removes the loop without additions, and the test of the sum."""
    configuration = scale.original.configuration
    smaller = replace(configuration, chosen=(32, *configuration.chosen[1:]))
    with create_run(scale, tmp_path / "run", Plan("barracuda", SETTINGS, 1, 1, 1)) as run:
        evaluator = run.evaluator()
        first, second, third = (
            dict(evaluator.evaluate(evaluator.prepare({ident: Genotype(chosen, edits)})))[ident]
            for ident, chosen, edits in [
                (1, configuration, (HARMLESS,)),
                (2, configuration, (HARMLESS, UNUSED)),
                (3, smaller, (HARMLESS,)),
            ]
        )
    assert first.right
    assert second.samples == first.samples
    assert second.message == "same machine code as individual 1"
    assert third.samples != first.samples
