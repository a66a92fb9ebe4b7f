"""The preset of our own, from the command line."""

from __future__ import annotations

from pathlib import Path

from gi_cuda.runs.stored import DATABASE
from gi_cuda.store import Store
from tests.command import gi_cuda
from tests.conftest import TARGETS


def test_a_short_run_and_more_generations(tmp_path: Path) -> None:
    """The default search from the command line, and a run that goes on."""
    sizes = ("--population", 6, "--generations", 1)
    evolve = (
        "evolve",
        TARGETS / "scale",
        "--preset",
        "adaptive",
        "--run",
        tmp_path / "run",
        *sizes,
    )
    done = gi_cuda(*evolve, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "generation 0: 6 evaluated" in done.stdout
    more = gi_cuda("resume", tmp_path / "run", "--generations", 2, cwd=tmp_path)
    assert more.returncode == 0, more.stderr
    with Store(tmp_path / "run" / DATABASE) as store:
        individuals = store.individuals()
        assert [one.finished for one in store.generations()] == [True] * 2
        assert len(store.evaluations()) == len(individuals)
    # What validations make of finalists that fail is no part of a generation.
    assert len([one for one in individuals if one.origin != "repair"]) == 12
    assert len({one.genotype_key for one in individuals}) == len(individuals)
    # Those that came out as what was there already gave way to mutants.
    assert [one.origin for one in individuals[:6]].count("sweep") > 3
