"""A search on a simulated GPU that finds all right: a variant with a race does not win."""

from __future__ import annotations

from pathlib import Path

import pytest

import gi_cuda.runs.tools
from gi_cuda.results.evaluation import Outcome
from gi_cuda.runs.create import create_run
from gi_cuda.runs.stored import Plan
from gi_cuda.runs.tools import open_tools
from gi_cuda.search import PRESETS
from gi_cuda.subject import Subject, load_subject
from tests.integration.runs.racing import small_races
from tests.sweeps import broad

from .pretended import evolve


@pytest.fixture
def races(tmp_path: Path) -> Subject:
    return load_subject(small_races(tmp_path / "races"), "cuda", edits="full")


@broad
@pytest.mark.usefixtures("toolkit", "gpu")
def test_what_races_is_wrong(
    races: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gi_cuda.runs.tools, "cores", lambda: 8)
    settings = PRESETS["adaptive"].settings.having(16, 1)
    with create_run(races, tmp_path / "run", Plan("adaptive", settings, 1, 1, 2)) as run:
        evolve(run)
        told = run.store.evaluations().values()
        seen = [one for one in told if one.message.startswith("looked at more closely it is wrong")]
        assert seen
        assert all(one.outcome is Outcome.WRONG for one in seen)
        assert len(told) == 16


@pytest.mark.usefixtures("toolkit", "gpu")
def test_nobody_watches_where_compilers_need_all_processors(races: Subject, tmp_path: Path) -> None:
    with open_tools(races, tmp_path / "run", workers=1, jobs=2) as tools:
        assert (tools.watcher is None) == (gi_cuda.runs.tools.cores() < 8)
