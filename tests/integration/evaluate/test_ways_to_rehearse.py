"""The reference compiles in each way to rehearse, on both levels."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.backends.cuda.compile.binary import CudaBinary
from gi_cuda.backends.protocol.variants import Phenotype
from gi_cuda.backends.table import open_compiler
from gi_cuda.evaluate.batches.passes import REFERENCE, Trial
from gi_cuda.evaluate.batches.rehearsal_choice import anew
from gi_cuda.evaluate.candidates import unmodified
from gi_cuda.evaluate.levels import open_subject

SCALE = Path(__file__).parents[2] / "targets" / "scale"


@pytest.mark.parametrize(("level", "number"), [("source", 2), ("ptx", 1)])
@pytest.mark.usefixtures("toolkit")
def test_the_reference_is_built_in_each(level: str, number: int, tmp_path: Path) -> None:
    subject = open_subject(SCALE, "cuda", level)
    compiler = open_compiler(subject, 2)
    first = compiler.preprocess([unmodified(subject).variant(REFERENCE)])[REFERENCE]
    ways = compiler.rehearsing()
    trials = anew(subject, compiler, Trial(subject.standard, first, ""))
    assert len(trials) == len(ways) == number
    for way, trial in zip(ways, trials, strict=True):
        assert isinstance(trial.phenotype, Phenotype)
        assert trial.phenotype.ident != REFERENCE
        (built,) = way.compile([trial.phenotype], tmp_path / str(trial.phenotype.ident))
        assert isinstance(built, CudaBinary)
        assert built.confined
        assert built.kernels
