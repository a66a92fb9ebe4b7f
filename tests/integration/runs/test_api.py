"""Searching from Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

import gi_cuda
from gi_cuda.errors import UserError
from gi_cuda.results.evaluation import Outcome
from gi_cuda.search import PRESETS
from gi_cuda.search.loop import Progress
from tests.command import ATTEMPTS, NOISY
from tests.integration.runs.conftest import SCALE, Finished, copy_scale
from tests.sweeps import broad

pytestmark = pytest.mark.usefixtures("few_processes")

T = TypeVar("T")

SHORT = PRESETS["barracuda"].settings.having(4, 1)


def quietly(attempt: Callable[[], T]) -> T:
    """Run an attempt, again if the machine was too busy to measure; return its result."""
    for _ in range(ATTEMPTS - 1):
        try:
            return attempt()
        except UserError as error:
            if not any(said in error.what for said in NOISY):
                raise
    return attempt()


def searched(target: Path, run: Path, **options: Any) -> gi_cuda.StoredRun:
    return quietly(lambda: gi_cuda.evolve(target, run, **options))


def test_a_search_tells_how_it_goes(finished: Finished, tmp_path: Path) -> None:
    told: list[Progress] = []

    def search() -> gi_cuda.StoredRun:
        told.clear()
        return gi_cuda.evolve(
            finished.source.parent, tmp_path / "run", settings=SHORT, progress=told.append
        )

    run = quietly(search)
    assert len(run.individuals()) == 4
    assert sorted(one.ident or 0 for one in told if one.evaluation) == [
        one.individual for one in run.individuals()
    ]


@broad
def test_a_search_from_the_winner_of_another(finished: Finished, tmp_path: Path) -> None:
    target = finished.source.parent
    run = searched(target, tmp_path / "run", start=finished.folder, settings=SHORT)
    winner = gi_cuda.open_run(finished.folder).record().winner
    record = run.record()
    assert winner is not None
    assert record.started is not None
    assert str(finished.folder) in str(record.started)
    # Children of the winner, besides those that begin anew.
    assert any(winner.genotype in one.genotype for one in run.individuals())


def test_what_it_cannot_start_from(finished: Finished, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the run is of another target"):
        gi_cuda.evolve(SCALE, tmp_path / "run", start=finished.folder)
    assert not (tmp_path / "run").exists()


@broad
def test_a_search_whose_time_is_up(tmp_path: Path) -> None:
    """All that it had finished is kept and validated, and a search goes on from there."""
    many = SHORT.having(None, 100_000)
    run = searched(SCALE, tmp_path / "run", settings=many, seconds=0.5)
    record = run.record()
    assert record.plan.settings.generations == 100_000
    done = [one for one in run.individuals() if one.outcome is not None]
    faster = [one for one in done if one.outcome is Outcome.FASTER]
    assert faster or record.winner is None
    nothing = searched(SCALE, tmp_path / "nothing", settings=many, seconds=0)
    assert not nothing.individuals()


def test_a_level_that_the_back_end_does_not_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the host back end does not run PTX"):
        gi_cuda.evolve(SCALE, tmp_path / "run", level="ptx")
    with pytest.raises(UserError, match="there is no level 'sass'"):
        gi_cuda.evolve(SCALE, tmp_path / "run", level="sass")


def test_the_documented_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The examples run unchanged, except for the small target and less time."""
    text = (Path(__file__).parents[3] / "docs" / "reference" / "json.md").read_text("utf-8")
    example = re.findall(r"```python\n(.*?)```", text, re.S)[1]
    assert "seconds=60" in example
    (tmp_path / "targets").mkdir()
    copy_scale(tmp_path / "targets" / "bwt_exact")
    monkeypatch.chdir(tmp_path)
    quietly(lambda: exec(example.replace("seconds=60", "seconds=1"), {}))
    assert capsys.readouterr().out
    assert (tmp_path / "runs" / "mine").is_dir()
