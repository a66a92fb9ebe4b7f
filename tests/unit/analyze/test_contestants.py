"""Contestants that `compare` takes as words."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.analyze.compare.contestants import as_run
from gi_cuda.runs.stored import DATABASE


def test_runs_and_their_individuals(tmp_path: Path) -> None:
    (tmp_path / DATABASE).touch()
    assert as_run(str(tmp_path)) == (tmp_path, None)
    assert as_run(f"{tmp_path}:12") == (tmp_path, 12)
    assert as_run(f"{tmp_path}:best") is None


def test_a_genotype_may_be_longer_than_a_path() -> None:
    assert as_run(" ".join(f"<_kernel.cu_{number}>" for number in range(1000))) is None
