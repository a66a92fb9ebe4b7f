"""``gi-cuda compare`` of a run on PTX that started from a winner of the source, and of its module;
the real compiler, a pretended GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.cli import evolve, patch
from gi_cuda.levels import load_evolvable

from .test_compare_levels import comparison
from .test_ptx_after_search import SCALE, SOURCE_WINNER, a_run

pytestmark = pytest.mark.usefixtures("toolkit", "gpu")


def test_a_start_its_winner_and_its_module_have_one_reference(tmp_path: Path) -> None:
    source = a_run(load_evolvable(SCALE, "cuda"), tmp_path / "source", SOURCE_WINNER)
    both = tmp_path / "both"
    words = {"backend": "cuda", "level": "ptx", "population": 6, "generations": 2}
    evolve.command(SCALE, run=both, start=source, **words)  # type: ignore[arg-type]
    file = tmp_path / "both.ptx"
    patch.command(both, output=file, format="ptx")
    contestants = [source, both, f"{file}:BLOCK=128,CHECKED=1"]
    rows, _ = comparison(*contestants, folder=tmp_path)
    start, winner, module = (float(row["train"]) for row in rows)
    assert [row["verdict"] for row in rows] == ["faster"] * 3
    assert winner == module >= start > 1.2
