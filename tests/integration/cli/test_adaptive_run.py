"""The presets of our own and of other papers, from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gi_cuda.runs.stored import DATABASE
from gi_cuda.store import Store
from tests.command import gi_cuda
from tests.conftest import TARGETS


@pytest.mark.parametrize("preset", ["adaptive", "gevo", "paraiso"])
def test_a_short_run_and_more_generations(preset: str, tmp_path: Path) -> None:
    sizes = ("--population", 10, "--generations", 2)
    evolve = ("evolve", TARGETS / "scale", "--preset", preset, "--run", tmp_path / "run", *sizes)
    done = gi_cuda(*evolve, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "generation 1: 10 evaluated" in done.stdout
    more = gi_cuda("resume", tmp_path / "run", "--generations", 3, cwd=tmp_path)
    assert more.returncode == 0, more.stderr
    with Store(tmp_path / "run" / DATABASE) as store:
        individuals = store.individuals()
        assert [one.finished for one in store.generations()] == [True] * 3
        assert len(store.evaluations()) == len(individuals) == 30
    assert len({one.genotype_key for one in individuals}) == 30
    if preset == "adaptive":
        # Those that came out as what was there already gave way to mutants.
        assert [one.origin for one in individuals[:10]].count("sweep") > 5
    shown = gi_cuda("history", tmp_path / "run", cwd=tmp_path)
    assert shown.returncode in (0, 2), shown.stderr
