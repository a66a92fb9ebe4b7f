"""Compare a search on a cluster with the same search in one process."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.results.measurement import Survival
from gi_cuda.runs.create import create_run
from gi_cuda.runs.run import Run
from tests.integration.cluster.pretended import Here


def check_as_alone(run: Run, number: int, folder: Path) -> None:
    """Check that a run's individuals and evaluations are those of a search in this process.

    Args:
        number: number of individuals.
        folder: for another run.
    """
    individuals, evaluations = run.store.individuals(), run.store.evaluations()
    assert len(evaluations) == len(individuals) == number
    local, read = run.evaluator(), run.subject.read
    for ident, here in local.evaluate(
        local.prepare({i.ident: read(i.genotype) for i in individuals})
    ):
        there = evaluations[ident]
        assert there.built is here.built
        if here.survival is there.survival is Survival.NORMAL:
            assert there.right is here.right
    with create_run(run.subject, folder, run.plan) as other:
        for _ in other.evolution(evaluator=Here(other.evaluator().prepare)).run():
            pass
        assert other.store.individuals() == individuals
