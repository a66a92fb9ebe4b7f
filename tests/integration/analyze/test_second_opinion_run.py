"""A search on a pretended GPU, where all is right: what races does not become its best."""

from __future__ import annotations

from pathlib import Path

import pytest

import gi_cuda.runs.tools
from gi_cuda.results.evaluation import Outcome
from gi_cuda.runs.create import create_run
from gi_cuda.runs.stored import Plan
from gi_cuda.search import PRESETS
from gi_cuda.subject import load_subject
from tests.integration.runs.racing import small_races

from .pretended import evolve


@pytest.mark.usefixtures("toolkit", "gpu")
@pytest.mark.parametrize("processors", [8, 2])
def test_what_races_is_wrong_where_there_are_processors_to_spare(
    processors: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gi_cuda.runs.tools, "cores", lambda: processors)
    subject = load_subject(small_races(tmp_path / "races"), "cuda", edits="full")
    settings = PRESETS["adaptive"].settings.having(30, 1)
    with create_run(subject, tmp_path / "run", Plan("adaptive", settings, 1, 1, 2)) as run:
        evolve(run)
        told = run.store.evaluations()
        seen = [one for one in told.values() if one.message.startswith("on a processor")]
        assert bool(seen) == (processors == 8)
        assert all(one.outcome is Outcome.WRONG for one in seen)
        assert len(told) == 30
