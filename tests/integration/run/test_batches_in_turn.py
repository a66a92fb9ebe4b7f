"""Workers outlive batches, whose binaries lie in one folder: each runs what was compiled last."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.genome import Delete, Genotype
from gi_cuda.run import Plan, create_run
from gi_cuda.search import Settings
from gi_cuda.subject import Subject

HARMLESS = Delete("_kernel.cu_27")
WRONG = Delete("_kernel.cu_22")


def test_a_worker_never_runs_what_an_earlier_batch_left_loaded(
    scale: Subject, tmp_path: Path
) -> None:
    configuration = scale.original.configuration
    right, wrong = (Genotype(configuration, (edit,)) for edit in (HARMLESS, WRONG))
    with create_run(scale, tmp_path / "run", Plan("barracuda", Settings(), 1, 1, 1)) as run:
        laboratory = run.laboratory()
        for batch in ({1: right, 2: wrong}, {1: wrong, 2: right}, {3: right, 4: wrong}):
            found = dict(laboratory.evaluate(batch))
            assert {i for i, one in found.items() if one.right} == {
                i for i, genotype in batch.items() if genotype is right
            }
            assert laboratory.pool._died == 0
