"""A run as records: with ``--json``, and in Python."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import gi_cuda
from gi_cuda.analyze.finalists.winner import Minimized, keep_minimized, stored_winner
from gi_cuda.analyze.minimizing.minimization import Minimization
from gi_cuda.analyze.stored.records import run_record
from gi_cuda.errors import UserError
from gi_cuda.runs.stored import DATABASE, stored_subject
from gi_cuda.store import Store
from tests.integration.runs.conftest import WASTE, Finished, printed, with_winner


@pytest.fixture
def run(finished: Finished, tmp_path: Path) -> Path:
    """A copy of the finished run."""
    return Path(shutil.copytree(finished.folder, tmp_path / "run"))


def test_one_generation_and_one_individual(run: Path) -> None:
    some = printed("show --generation", 1, run)["individuals"]
    one = printed("show --individual", some[0]["individual"], run)
    assert one["individual"] == some[0]
    assert one["diff"] == gi_cuda.open_run(run).diff(some[0]["individual"])


def test_what_needs_no_run(finished: Finished) -> None:
    assert "host" in printed("doctor")["usable"]
    checked = printed("check", finished.source.parent)
    assert checked["baseline"]["seconds"] > 0
    assert checked["broken"]["message"]


def test_python_has_what_is_shown(run: Path) -> None:
    opened = gi_cuda.open_run(run)
    record, everybody = opened.record(best=3), opened.individuals()
    assert len(everybody) == sum(sum(one.outcomes.values()) for one in opened.generations())
    assert record.individuals[0] in everybody
    assert record.winner is not None
    assert record.winner.diff
    timed = {one.individual for one in opened.measurements()}
    assert {one.individual for one in everybody if one.speed_up} <= timed
    sure = [one.sure for one in record.generations if one.sure]
    assert sure == sorted(sure)


def test_the_documented_example(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (Path(__file__).parents[3] / "docs" / "reference" / "json.md").read_text("utf-8")
    example = re.findall(r"```python\n(.*?)```", text, re.S)[0]
    (run.parent / "runs").mkdir()
    run.rename(run.parent / "runs" / "bwt_exact-1")
    monkeypatch.chdir(run.parent)
    exec(example, {})
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("individual ")
    assert int(said[-1]) > len(said) - 2  # several pairs of each that was timed


def test_frames(run: Path) -> None:
    pandas = pytest.importorskip("pandas")
    opened = gi_cuda.open_run(run)
    frame = opened.generations().frame()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["outcomes.faster"].sum() == sum(
        one.outcome == "faster" for one in opened.individuals()
    )


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no run is stored here"):
        gi_cuda.open_run(tmp_path)


def test_what_a_search_found_is_told_as_before_it_was_minimized(
    finished: Finished, tmp_path: Path
) -> None:
    whole = f"<for3_kernel.cu_26>+<for3_kernel.cu_11> {WASTE}"
    copy = with_winner(finished.folder, whole, tmp_path / "copy")
    with Store(copy / DATABASE) as store:
        subject = stored_subject(store, copy)
        winner = stored_winner(store)
        assert winner is not None
        speed_up = winner.validation.overall
        assert speed_up is not None
        left = Minimization(WASTE, speed_up, speed_up, (), (), 1, 1)
        keep_minimized(store, winner.ident, Minimized(left, winner.validation))
        record = run_record(store, copy, 1, subject).winner
    assert record is not None
    assert record.genotype == WASTE
    assert record.found is not None
    assert record.found.genotype == whole
